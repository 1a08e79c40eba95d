//! What several tests need: where the real answers are, and the functions that the recorded templates call.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

pub(crate) mod generator;
pub(crate) mod oracle;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sluice_gotemplate::{
    Arguments, Budget, Error, Failure, FunctionMap, Map, MissingKey, Run, Scope, Signature, TemplateSet,
    Text, Type, Value,
};

/// A folder of the recorded cases, or None (after saying so) where there are none and none are required.
pub(crate) fn corpus(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SLUICE_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    let folder = root.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    skip(&format!("no corpus at {}", folder.display()));
    None
}

/// Says that a test did not run, or fails if it must.
pub(crate) fn skip(reason: &str) {
    assert!(
        std::env::var_os("SLUICE_REQUIRE").is_none_or(|value| value != "1"),
        "required: {reason}"
    );
    eprintln!("SKIPPED: {reason}");
}

/// How deep recorded templates may include each other, here and in the oracle.
const MAX_OPEN: usize = 30;

/// What the functions keep during a render.
struct State {
    root: TemplateSet,
    open: usize,
}

/// Executes what `include` and `tpl` ask for, not too deep.
fn nested(
    scope: &mut Scope<'_>,
    execute: impl FnOnce(&mut Scope<'_>) -> Result<Text, Error>,
) -> Result<Value, Failure> {
    let state = scope.state::<State>().unwrap();
    if state.open >= MAX_OPEN {
        return Err("too many open templates".into());
    }
    state.open += 1;
    let outcome = execute(scope);
    scope.state::<State>().unwrap().open -= 1;
    Ok(outcome?.into())
}

fn integer(value: &Value) -> i64 {
    match value {
        Value::Signed(_, number) => *number,
        #[allow(clippy::cast_possible_truncation, reason = "as Go converts")]
        Value::Float(_, number) if number.abs() < 9e18 => *number as i64,
        Value::Float(..) => i64::MIN,
        _ => 0,
    }
}

fn tpl(scope: &mut Scope<'_>, arguments: &Arguments) -> Result<Value, Failure> {
    // The recorded `tpl` extends the outermost templates, even where it is called inside another.
    let mut set = scope.state::<State>().unwrap().root.clone();
    set.set_name("gotpl");
    set.parse("gotpl", &arguments.text(0))?;
    nested(scope, |scope| {
        scope.execute_in(&set, "gotpl", &arguments.value(1))
    })
}

fn dict(arguments: &Arguments) -> Result<Value, Failure> {
    let values = arguments.rest(0);
    let map = Map::new();
    for pair in values.chunks_exact(2) {
        let Value::String(key) = &pair[0] else {
            let kind = match &pair[0] {
                Value::Nil => "nil".to_owned(),
                other => other.type_of().to_string(),
            };
            return Err(format!("interface conversion: interface {{}} is {kind}, not string").into());
        };
        map.insert(key.clone(), pair[1].clone());
    }
    Ok(Value::Map(map))
}

/// The functions of the program that recorded the cases.
pub(crate) fn functions() -> FunctionMap {
    let mut map = FunctionMap::new();
    map.register(
        "upper",
        Signature::fixed(&[Type::String], Type::String),
        |_, arguments| Ok(Value::from(arguments.text(0).to_text().to_uppercase())),
    );
    map.register(
        "fail",
        Signature::fixed(&[Type::String], Type::String),
        |_, arguments| Err::<Value, _>(Failure::new(arguments.text(0).to_text())),
    );
    let two = [Type::Any, Type::Any];
    map.register("add", Signature::fixed(&two, Type::INT64), |_, arguments| {
        let sum = integer(&arguments.value(0)).wrapping_add(integer(&arguments.value(1)));
        Ok(Value::int64(sum))
    });
    map.register(
        "int",
        Signature::fixed(&[Type::Any], Type::INT),
        |_, arguments| Ok(Value::int(integer(&arguments.value(0)))),
    );
    map.register(
        "dict",
        Signature::variadic(&[Type::Any], Type::MAP),
        |_, arguments| dict(&arguments),
    );
    let signature = Signature::fixed(&[Type::MAP, Type::String, Type::Any], Type::MAP);
    map.register("set", signature, |scope, arguments| {
        let map = arguments.map(0);
        if !map.insert(arguments.text(1), arguments.value(2)) {
            return Err(Failure::new("assignment to entry in nil map"));
        }
        scope.run().map_changed(&map);
        Ok(Value::Map(map))
    });
    let signature = Signature::fixed(&[Type::String, Type::Any], Type::String);
    map.register("include", signature.clone(), |scope, arguments| {
        let name = arguments.text(0);
        nested(scope, |scope| scope.execute(&name, &arguments.value(1)))
    });
    map.register("tpl", signature, |scope, arguments| tpl(scope, &arguments));
    map
}

/// Renders as the program that recorded the cases: output or error text.
pub(crate) fn render(template: &str, data: &serde_json::Value, missing: &str) -> Result<String, String> {
    render_within(Budget::default(), template, data, missing)
}

/// As [`render`], within a budget.
pub(crate) fn render_within(
    budget: Budget,
    template: &str,
    data: &serde_json::Value,
    missing: &str,
) -> Result<String, String> {
    let mut set = TemplateSet::new("t.yaml");
    set.add_functions(&functions());
    set.set_missing_key(match missing {
        "zero" => MissingKey::Zero,
        "error" => MissingKey::Error,
        _ => MissingKey::Invalid,
    });
    set.parse("t.yaml", template.as_bytes())
        .map_err(|error| error.to_string())?;
    let mut run = Run::new(budget).with_state(State {
        root: set.clone(),
        open: 0,
    });
    let data = Value::from_json(data);
    let text = set
        .execute_to_text(&mut run, "t.yaml", &data)
        .map_err(|error| error.to_string())?;
    Ok(text.to_text().into_owned())
}

/// How often a template may be open through `include`, as in Helm.
const MAX_INCLUDES: usize = 1_000;

/// The functions that a chart engine adds, without a cluster.
fn engine_functions() -> FunctionMap {
    let mut map = sluice_gotemplate::functions();
    let signature = Signature::fixed(&[Type::String, Type::Any], Type::String);
    map.register("include", signature.clone(), |scope, arguments| {
        let name = arguments.text(0).to_text().into_owned();
        let open = scope
            .state::<HashMap<String, usize>>()
            .unwrap()
            .entry(name.clone())
            .or_default();
        if *open > MAX_INCLUDES {
            let message =
                format!("rendering template has a nested reference name: {name}: unable to execute template");
            return Err(Failure::new(message));
        }
        *open += 1;
        let outcome = scope.execute(&name, &arguments.value(1));
        let open = scope.state::<HashMap<String, usize>>().unwrap();
        open.entry(name).and_modify(|open| *open -= 1);
        Ok(Value::from(outcome?))
    });
    map.register("tpl", signature, |scope, arguments| {
        let text = arguments.text(0);
        let shown = format!("{:?}", text.to_text());
        let mut set = scope.templates().clone();
        let name = set.name().to_owned();
        set.parse_over(&name, &text).map_err(|error| {
            let message = format!("cannot parse template {shown}: {error}");
            Failure::from(error).with_message(message)
        })?;
        let out = scope
            .execute_in(&set, &name, &arguments.value(1))
            .map_err(|error| {
                let message = format!("error during tpl function execution for {shown}: {error}");
                Failure::from(error).with_message(message)
            })?;
        Ok(Value::from(out.to_text().replace("<no value>", "")))
    });
    map
}

/// Renders with the functions of sprig and Helm: output or error text.
pub(crate) fn render_chart(template: &str, data: &serde_json::Value) -> Result<String, String> {
    render_run(Run::default(), template, data)
}

/// As [`render_chart`], with random numbers that come from a seed, at a time that stands still.
pub(crate) fn render_seeded(template: &str, seed: u64) -> Result<String, String> {
    let run = Run::default()
        .with_seed(seed)
        .with_time(Duration::from_secs(1_000_000_000));
    render_run(run, template, &serde_json::json!({}))
}

fn render_run(run: Run, template: &str, data: &serde_json::Value) -> Result<String, String> {
    let mut set = TemplateSet::new("t.yaml");
    set.add_functions(&engine_functions());
    set.set_missing_key(MissingKey::Zero);
    set.parse("t.yaml", template.as_bytes())
        .map_err(|error| error.to_string())?;
    let mut run = run.with_state(HashMap::<String, usize>::new());
    let text = set
        .execute_to_text(&mut run, "t.yaml", &Value::from_json(data))
        .map_err(|error| error.to_string())?;
    Ok(text.to_text().into_owned())
}
