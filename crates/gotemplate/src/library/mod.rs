//! The functions of sprig 3 and of Helm 4, by topic.
//!
//! Where a function of theirs panics, ours fails with the text that Go gives for the panic.

mod case;
mod certificates;
mod convert;
mod dates;
mod dictionaries;
mod encoding;
mod hashes;
mod json;
mod lists;
mod logic;
mod math;
mod passwords;
mod paths;
mod random;
mod regular_expressions;
mod strings;
mod toml;
mod urls;
mod versions;
mod yaml;

use crate::error::Failure;
use crate::function::{Arguments, FunctionMap, Scope, Signature};
use crate::value::{Type, Value};

pub(crate) use dates::read_date;
pub use urls::Parts as Url;
pub(crate) use urls::read as read_url;

type Outcome = Result<Value, Failure>;

const ANY: Type = Type::Any;
const TEXT: Type = Type::String;
const INT: Type = Type::INT;
const MAP: Type = Type::MAP;
const LIST: Type = Type::LIST;
const STRINGS: Type = Type::STRINGS;

/// All functions that need nothing from outside: no cluster, no network, no other template.
///
/// `include`, `tpl`, `required`, `lookup` and `getHostByName` belong to the engine that knows these; `env`
/// and `expandenv` are absent, as in Helm.
pub fn functions() -> FunctionMap {
    let mut registry = Registry(FunctionMap::new());
    strings::register(&mut registry);
    case::register(&mut registry);
    lists::register(&mut registry);
    dictionaries::register(&mut registry);
    logic::register(&mut registry);
    math::register(&mut registry);
    encoding::register(&mut registry);
    hashes::register(&mut registry);
    json::register(&mut registry);
    yaml::register(&mut registry);
    paths::register(&mut registry);
    urls::register(&mut registry);
    versions::register(&mut registry);
    regular_expressions::register(&mut registry);
    dates::register(&mut registry);
    random::register(&mut registry);
    toml::register(&mut registry);
    passwords::register(&mut registry);
    certificates::register(&mut registry);
    registry.0
}

/// Collects functions.
struct Registry(FunctionMap);

impl Registry {
    fn fixed<F>(&mut self, name: &str, parameters: &[Type], result: Type, body: F)
    where
        F: Fn(&mut Scope<'_>, &Arguments) -> Outcome + Send + Sync + 'static,
    {
        let signature = Signature::fixed(parameters, result);
        self.0
            .register(name, signature, move |scope, arguments| body(scope, &arguments));
    }

    fn variadic<F>(&mut self, name: &str, parameters: &[Type], result: Type, body: F)
    where
        F: Fn(&mut Scope<'_>, &Arguments) -> Outcome + Send + Sync + 'static,
    {
        let signature = Signature::variadic(parameters, result);
        self.0
            .register(name, signature, move |scope, arguments| body(scope, &arguments));
    }

    /// A function of one text that gives another.
    fn text(&mut self, name: &str, body: fn(&[u8]) -> Vec<u8>) {
        self.fixed(name, &[TEXT], TEXT, move |_, arguments| {
            Ok(Value::string(body(&arguments.text(0))))
        });
    }
}
