//! The template functions that need the engine: other templates, the cluster, the network.

use std::collections::HashMap;
use std::sync::Arc;

use sluice_gotemplate::{Arguments, Failure, FunctionMap, Map, Scope, Signature, Text, Type, Value};

use super::failure::{WARNING_END, WARNING_START};
use super::{Lookup, RenderOptions, Resolver};
use crate::log::Log;
use crate::values::{go_numbers, to_template};

/// How often one name may be included within itself.
const MAX_INCLUDED: usize = 1_000;

/// What the functions keep during a render.
pub(super) struct State {
    included: HashMap<Text, usize>,
    lookup: Option<Arc<dyn Lookup + Send + Sync>>,
    resolver: Option<Arc<dyn Resolver + Send + Sync>>,
    pub(super) log: Log,
}

impl State {
    pub(super) fn new(options: &RenderOptions) -> Self {
        Self {
            included: HashMap::new(),
            lookup: options.lookup.clone(),
            resolver: options.resolver.clone(),
            log: Log::default(),
        }
    }
}

type Outcome = Result<Value, Failure>;

pub(super) fn register(functions: &mut FunctionMap) {
    let text = Type::String;
    let mut add =
        |name: &str, parameters: &[Type], result: Type, body: fn(&mut Scope<'_>, &Arguments) -> Outcome| {
            let signature = Signature::fixed(parameters, result);
            functions.register(name, signature, move |scope, arguments| body(scope, &arguments));
        };
    add("include", &[text.clone(), Type::Any], text.clone(), include);
    add("tpl", &[text.clone(), Type::Any], text.clone(), tpl);
    add("required", &[text.clone(), Type::Any], Type::Any, required);
    add("fail", std::slice::from_ref(&text), text.clone(), fail);
    let four = [text.clone(), text.clone(), text.clone(), text.clone()];
    add("lookup", &four, Type::MAP, lookup);
    add(
        "getHostByName",
        std::slice::from_ref(&text),
        text.clone(),
        get_host_by_name,
    );
}

fn include(scope: &mut Scope<'_>, arguments: &Arguments) -> Outcome {
    let name = arguments.text(0);
    if let Some(state) = scope.state::<State>() {
        let count = state.included.entry(name.clone()).or_default();
        if *count > MAX_INCLUDED {
            let name = name.to_text();
            return Err(Failure::new(format!(
                "rendering template has a nested reference name: {name}: unable to execute template"
            )));
        }
        *count += 1;
    }
    let outcome = scope.execute(&name, &arguments.value(1));
    if let Some(count) = scope
        .state::<State>()
        .and_then(|state| state.included.get_mut(&name))
    {
        *count -= 1;
    }
    Ok(Value::String(outcome?))
}

fn tpl(scope: &mut Scope<'_>, arguments: &Arguments) -> Outcome {
    let text = arguments.text(0);
    let in_context = |what: &str, failure: Failure| {
        let message = format!("{what} {}: {failure}", crate::text::quoted(&text.to_text()));
        failure.with_message(message)
    };
    let mut set = scope.templates().clone();
    let name = set.name().to_owned();
    set.parse_over(&name, &text)
        .map_err(|error| in_context("cannot parse template", error.into()))?;
    let result = scope
        .execute_in(&set, &name, &arguments.value(1))
        .map_err(|error| in_context("error during tpl function execution for", error.into()))?;
    Ok(Value::string(without_missing(&result)))
}

/// The text without Go's mark of missing values.
fn without_missing(text: &Text) -> Vec<u8> {
    const MARK: &[u8] = b"<no value>";
    let mut out = Vec::with_capacity(text.len());
    let mut rest: &[u8] = text;
    while let Some((&first, tail)) = rest.split_first() {
        match rest.strip_prefix(MARK) {
            Some(after) => rest = after,
            None => {
                out.push(first);
                rest = tail;
            }
        }
    }
    out
}

/// A failure with a text for the user, which the engine finds again in the message around it.
fn warning(text: &Text) -> Failure {
    Failure::new(format!("{WARNING_START}{}{WARNING_END}", text.to_text()))
}

fn required(_: &mut Scope<'_>, arguments: &Arguments) -> Outcome {
    match arguments.value(1) {
        Value::Nil => Err(warning(&arguments.text(0))),
        Value::String(text) if text.is_empty() => Err(warning(&arguments.text(0))),
        value => Ok(value),
    }
}

fn fail(_: &mut Scope<'_>, arguments: &Arguments) -> Outcome {
    Err(warning(&arguments.text(0)))
}

fn lookup(scope: &mut Scope<'_>, arguments: &Arguments) -> Outcome {
    let Some(cluster) = scope.state::<State>().and_then(|state| state.lookup.clone()) else {
        return Ok(Value::Map(Map::new()));
    };
    let text = |index: usize| arguments.text(index).to_text().into_owned();
    let found = cluster
        .lookup(&text(0), &text(1), &text(2), &text(3))
        .map_err(|error| Failure::new(error.0))?;
    match found.map(go_numbers) {
        Some(object @ serde_json::Value::Object(_)) => Ok(to_template(&object)),
        _ => Ok(Value::Map(Map::new())),
    }
}

fn get_host_by_name(scope: &mut Scope<'_>, arguments: &Arguments) -> Outcome {
    let resolver = scope.state::<State>().and_then(|state| state.resolver.clone());
    let host = arguments.text(0);
    let address = resolver.and_then(|resolver| resolver.resolve(&host.to_text()));
    Ok(Value::from(address.unwrap_or_default()))
}
