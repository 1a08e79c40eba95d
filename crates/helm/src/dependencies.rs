//! Which charts inside a chart are used, under which names, and what they hand up to it.

use sluice_gotemplate::{Map, Value};
use sluice_semver::{Constraints, Rules, Version};

use crate::chart::{Chart, Dependency};
use crate::log::Log;
use crate::values::{
    TypeMismatch, Values, coalesce_values, deep_copy, from_template_map, merge_tables, merge_values,
    path_value, table, to_template_map,
};

/// A chart in work: its values are shared tables.
#[derive(Clone)]
pub(crate) struct Branch {
    /// The chart, without the charts inside it.
    pub(crate) chart: Chart,
    /// Its default values; None where there are none.
    pub(crate) values: Option<Map>,
    /// The charts inside it.
    pub(crate) dependencies: Vec<Branch>,
}

impl Branch {
    pub(crate) fn new(chart: &Chart) -> Self {
        Self {
            values: chart.values.as_deref().map(to_template_map),
            dependencies: chart.dependencies.iter().map(Self::new).collect(),
            chart: Chart {
                dependencies: Vec::new(),
                ..chart.clone()
            },
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.chart.metadata.name
    }

    /// The chart with its values and the charts inside it as they are now.
    pub(crate) fn into_chart(self) -> Chart {
        Chart {
            values: self.values.as_ref().map(|map| from_template_map(map).into()),
            dependencies: self.dependencies.into_iter().map(Self::into_chart).collect(),
            ..self.chart
        }
    }
}

/// Applies what `Chart.yaml` says of dependencies: aliases, tags, conditions and imported values.
///
/// The result has only the charts that are switched on, under the names that they have here, and default
/// values with what was imported. Processing a processed chart again changes nothing.
///
/// # Errors
/// If the values have something else than a table under the name of a chart.
pub fn process_dependencies(chart: &Chart, values: &Values, log: &mut Log) -> Result<Chart, TypeMismatch> {
    let mut branch = Branch::new(chart);
    process(&mut branch, &to_template_map(values), log)?;
    Ok(branch.into_chart())
}

pub(crate) fn process(branch: &mut Branch, values: &Map, log: &mut Log) -> Result<(), TypeMismatch> {
    select(branch, values, "", log)?;
    import(branch, log)
}

/// Whether a version lies in a range; what cannot be read does not match.
pub(crate) fn is_in_range(range: &str, version: &str) -> bool {
    let Ok(version) = Version::parse(version) else {
        return false;
    };
    Constraints::parse(range, Rules::Helm).is_ok_and(|range| range.matches(&version))
}

fn is_meant(dependency: &Dependency, branch: &Branch) -> bool {
    branch.name() == dependency.name && is_in_range(&dependency.version, &branch.chart.metadata.version)
}

/// Keeps the charts that are switched on, undeclared ones first.
fn select(branch: &mut Branch, values: &Map, path: &str, log: &mut Log) -> Result<(), TypeMismatch> {
    let Some(mut declared) = branch.chart.metadata.dependencies.take() else {
        return Ok(());
    };
    let available = std::mem::take(&mut branch.dependencies);
    let undeclared = available
        .iter()
        .filter(|chart| !declared.iter().any(|dependency| is_meant(dependency, chart)));
    let mut selected: Vec<Branch> = undeclared.cloned().collect();
    for dependency in &mut declared {
        if let Some(found) = available.iter().find(|chart| is_meant(dependency, chart)) {
            let mut chart = found.clone();
            if !dependency.alias.is_empty() {
                chart.chart.metadata.name.clone_from(&dependency.alias);
            }
            selected.push(chart);
        }
        if !dependency.alias.is_empty() {
            dependency.name.clone_from(&dependency.alias);
        }
        dependency.enabled = true;
    }
    branch.dependencies = selected;
    let values = coalesce_values(branch, values, log)?;
    apply_tags(&mut declared, &values, log);
    apply_conditions(&mut declared, &values, path, log);
    let is_off = |name: &str| {
        declared
            .iter()
            .any(|dependency| !dependency.enabled && dependency.name == name)
    };
    branch.dependencies.retain(|chart| !is_off(chart.name()));
    let kept: Vec<Dependency> = declared
        .iter()
        .filter(|dependency| !is_off(&dependency.name))
        .cloned()
        .collect();
    for inner in &mut branch.dependencies {
        let path = format!("{path}{}.", inner.name());
        select(inner, &values, &path, log)?;
    }
    // An empty list is none from here on, as in Helm.
    branch.chart.metadata.dependencies = Some(kept).filter(|kept| !kept.is_empty());
    Ok(())
}

fn apply_tags(dependencies: &mut [Dependency], values: &Map, log: &mut Log) {
    let Some(tags) = table(values, "tags") else {
        return;
    };
    for dependency in dependencies {
        let (mut on, mut off) = (false, false);
        for tag in &dependency.tags {
            match tags.get(tag) {
                Some(Value::Bool(true)) => on = true,
                Some(Value::Bool(false)) => off = true,
                Some(_) => log.warn(format!(
                    "returned non-bool value tag={tag} chart={}",
                    dependency.name
                )),
                None => {}
            }
        }
        dependency.enabled = on || !off;
    }
}

fn apply_conditions(dependencies: &mut [Dependency], values: &Map, path: &str, log: &mut Log) {
    for dependency in dependencies {
        let conditions = dependency.condition.trim_matches(crate::text::is_space);
        for condition in conditions.split(',').filter(|condition| !condition.is_empty()) {
            match path_value(values, &format!("{path}{condition}")) {
                Some(Value::Bool(enabled)) => {
                    dependency.enabled = enabled;
                    break;
                }
                Some(_) => log.warn(format!(
                    "returned non-bool value path={condition} chart={}",
                    dependency.name
                )),
                None => {}
            }
        }
    }
}

/// Lets parents take over values of the charts inside them, from the innermost outwards.
fn import(branch: &mut Branch, log: &mut Log) -> Result<(), TypeMismatch> {
    for inner in &mut branch.dependencies {
        import(inner, log)?;
    }
    let Some(mut declared) = branch.chart.metadata.dependencies.take() else {
        return Ok(());
    };
    let values = merge_values(branch, &Map::new(), log)?;
    let imported = Map::new();
    for dependency in declared.iter_mut().filter(|dependency| !dependency.imported) {
        let mut pairs = Vec::new();
        for wanted in &dependency.import_values {
            let Some((child, parent)) = import_paths(wanted) else {
                continue;
            };
            let found = table(&values, &format!("{}.{child}", dependency.name));
            match found {
                // What is imported is shared with the child until the copy below, unless it is empty, in Helm
                // too: a later import to the same place shows in the child.
                Some(found) if found.is_empty() => {
                    merge_tables(&imported, &at_path(&parent, Map::new()), log);
                }
                Some(found) => merge_tables(&imported, &at_path(&parent, found), log),
                None => log.warn(format!(
                    "ImportValues missing table from chart chart={} error={child} is not a table",
                    dependency.name
                )),
            }
            pairs.push(serde_json::json!({"child": child, "parent": parent}));
        }
        dependency.import_values = pairs;
        dependency.imported = true;
    }
    branch.chart.metadata.dependencies = Some(declared);
    let Value::Map(values) = deep_copy(&Value::Map(values)) else {
        return Ok(());
    };
    merge_tables(&values, &imported, log);
    branch.values = Some(values);
    Ok(())
}

/// What is taken from the child and where it goes; None for what is neither a name nor a pair.
fn import_paths(wanted: &serde_json::Value) -> Option<(String, String)> {
    match wanted {
        serde_json::Value::String(name) => Some((format!("exports.{name}"), ".".to_owned())),
        serde_json::Value::Object(pair) => {
            let path = |key: &str| match pair.get(key) {
                Some(serde_json::Value::String(text)) => text.clone(),
                None | Some(serde_json::Value::Null) => "<nil>".to_owned(),
                Some(other) => other.to_string(),
            };
            Some((path("child"), path("parent")))
        }
        _ => None,
    }
}

/// The table at the end of a path of new tables; `.` is no path.
fn at_path(path: &str, table: Map) -> Map {
    if path == "." {
        return table;
    }
    path.rsplit('.')
        .fold(table, |inner, name| Map::from_iter([(name, Value::Map(inner))]))
}
