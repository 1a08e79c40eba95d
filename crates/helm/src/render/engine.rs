//! Executing the templates of a chart and of the charts inside it.

use std::collections::BTreeMap;
use std::rc::Rc;

use sluice_gotemplate::{FunctionMap, Map, MissingKey, Run, TemplateSet, Value, functions as library};

use super::failure::{execute_message, parse_message};
use super::functions::{State, register};
use super::objects::{Named, capabilities_value, chart_value, release_value};
use super::{RenderError, RenderOptions, Target, files};
use crate::chart::File;
use crate::dependencies::Branch;
use crate::log::Log;
use crate::values::table;

/// One template with the scope of its chart.
struct Template<'chart> {
    file: &'chart File,
    scope: Map,
    base: String,
}

/// The rendered files by path, partials left out.
pub(super) fn execute(
    branch: &Branch,
    values: Map,
    target: &Target,
    options: &RenderOptions,
    log: &mut Log,
) -> Result<BTreeMap<String, String>, RenderError> {
    let mut templates = BTreeMap::new();
    let top = Map::from_iter([
        ("Release", release_value(target)),
        ("Capabilities", capabilities_value(&options.capabilities)),
        ("Values", Value::Map(values)),
    ]);
    collect(branch, &top, branch.name(), true, &mut templates);
    let set = parse(&templates)?;
    let mut run = Run::new(options.budget.clone()).with_state(State::new(options));
    if let Some(time) = options.time {
        run = run.with_time(time);
    }
    if let Some(seed) = options.seed {
        run = run.with_seed(seed);
    }
    let mut rendered = BTreeMap::new();
    for (path, template) in in_order(&templates) {
        if crate::text::base(path).starts_with('_') {
            continue;
        }
        let place = Map::from_iter([
            ("Name", Value::from(path.as_str())),
            ("BasePath", Value::from(template.base.as_str())),
        ]);
        template
            .scope
            .insert("Template", Named::value("common.Values", place));
        let dot = Named::value("common.Values", template.scope.clone());
        let text = set
            .execute_to_text(&mut run, path, &dot)
            .map_err(|error| RenderError::Template {
                limit: error.limit(),
                message: execute_message(path, &error),
            })?;
        rendered.insert(path.clone(), text.to_text().replace("<no value>", ""));
    }
    if let Some(state) = run.state::<State>() {
        for warning in state.log.warnings() {
            log.warn(warning.clone());
        }
    }
    break_cycles(&templates);
    Ok(rendered)
}

/// The scopes of charts hold each other; nothing is freed unless they let go.
fn break_cycles(templates: &BTreeMap<String, Template<'_>>) {
    for template in templates.values() {
        for key in template.scope.keys() {
            template.scope.remove(&key);
        }
    }
}

/// Parses all templates: of two definitions with one name, the one that is parsed later wins.
fn parse(templates: &BTreeMap<String, Template<'_>>) -> Result<TemplateSet, RenderError> {
    let mut functions: FunctionMap = library();
    register(&mut functions);
    let mut set = TemplateSet::new("gotpl");
    set.set_missing_key(MissingKey::Zero);
    set.add_functions(&functions);
    for (path, template) in in_order(templates) {
        set.parse(path, &template.file.data)
            .map_err(|error| RenderError::Template {
                message: parse_message(path, &error),
                limit: None,
            })?;
    }
    Ok(set)
}

/// Deeper paths first, of equal depth the last by name: so outer charts, and in a directory the first file,
/// have the last word.
fn in_order<'all, 'chart>(
    templates: &'all BTreeMap<String, Template<'chart>>,
) -> Vec<(&'all String, &'all Template<'chart>)> {
    let mut ordered: Vec<_> = templates.iter().collect();
    let depth = |path: &str| path.bytes().filter(|&byte| byte == b'/').count();
    ordered.sort_by(|(first, _), (second, _)| {
        (depth(second), second.as_str()).cmp(&(depth(first), first.as_str()))
    });
    ordered
}

/// Collects the templates of a chart and those inside it, and gives back the chart's scope.
fn collect<'chart>(
    branch: &'chart Branch,
    above: &Map,
    path: &str,
    is_root: bool,
    templates: &mut BTreeMap<String, Template<'chart>>,
) -> Map {
    let chart = &branch.chart;
    let values = if is_root {
        match above.get("Values") {
            Some(Value::Map(values)) => values,
            _ => Map::new(),
        }
    } else {
        table(above, &format!("Values.{}", branch.name())).unwrap_or_default()
    };
    let subcharts = Map::new();
    let scope = Map::from_iter([
        ("Chart", chart_value(&chart.metadata, is_root)),
        ("Files", Value::Object(Rc::new(files::Files::new(&chart.files)))),
        ("Release", above.get("Release").unwrap_or_default()),
        ("Capabilities", above.get("Capabilities").unwrap_or_default()),
        ("Values", Named::value("common.Values", values)),
        ("Subcharts", Value::Map(subcharts.clone())),
    ]);
    for inner in &branch.dependencies {
        let path = format!("{path}/charts/{}", inner.name());
        let inner_scope = collect(inner, &scope, &path, false, templates);
        subcharts.insert(inner.name(), Value::Map(inner_scope));
    }
    for file in chart.templates.iter() {
        if chart.metadata.is_library() && !crate::text::base(&file.name).starts_with('_') {
            continue;
        }
        let template = Template {
            file,
            scope: scope.clone(),
            base: format!("{path}/templates"),
        };
        templates.insert(
            crate::text::clean_path(&format!("{path}/{}", file.name)),
            template,
        );
    }
    scope
}
