//! `.Files`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use sluice_gotemplate::{
    Arguments, Callable, Failure, List, Map, Native, Object, Scope, Shape, Signature, Text, Type, Value,
};

use crate::chart::File;
use crate::glob::FileGlob;

/// The files of a chart by path: Go's `engine.files`, a map of bytes with methods.
pub(super) struct Files(BTreeMap<String, Bytes>);

const BYTES: Type = Type::List(&Type::BYTE);
const FILES: Type = Type::Named(Cow::Borrowed("engine.files"), Some(&Type::Map(&BYTES)));

impl Files {
    pub(super) fn new(files: &[File]) -> Self {
        let files = files.iter().map(|file| (file.name.clone(), file.data.clone()));
        Self(files.collect())
    }

    fn get(&self, name: &Text) -> Option<&Bytes> {
        self.0.get(name.to_text().as_ref())
    }

    fn glob(&self, pattern: &Text) -> Self {
        let glob = FileGlob::new(&pattern.to_text());
        let matching = self.0.iter().filter(|(name, _)| glob.matches(name));
        Self(
            matching
                .map(|(name, data)| (name.clone(), data.clone()))
                .collect(),
        )
    }

    /// The files as YAML, each under the last part of its path.
    fn to_yaml(&self, convert: impl Fn(&Bytes) -> String) -> Value {
        let map: serde_json::Map<String, serde_json::Value> = self
            .0
            .iter()
            .map(|(name, data)| (crate::text::base(name).to_owned(), convert(data).into()))
            .collect();
        let text = sluice_goyaml::write_sigs(&map.into()).unwrap_or_default();
        Value::from(text.strip_suffix('\n').unwrap_or(&text))
    }

    /// The lines of a file. An empty file has none: Helm 4.2 panics there.
    fn lines(&self, name: &Text) -> Value {
        let Some(data) = self.get(name).filter(|data| !data.is_empty()) else {
            return Value::List(List::strings::<Text>([]));
        };
        let data = data.strip_suffix(b"\n").unwrap_or(data);
        Value::List(List::strings(data.split(|&byte| byte == b'\n')))
    }
}

impl Object for Files {
    fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed("engine.files")
    }

    fn type_of(&self) -> Type {
        FILES
    }

    fn shape(&self) -> Shape {
        let map = Map::typed(&BYTES);
        for (name, data) in &self.0 {
            map.insert(name.as_str(), Value::bytes(data));
        }
        Shape::Plain(Value::Map(map))
    }

    fn method(self: Rc<Self>, name: &str) -> Option<Rc<dyn Callable>> {
        let one = |result: Type| Signature::fixed(&[Type::String], result);
        Some(match name {
            "Get" => method(one(Type::String), move |_, arguments| {
                let data = self.get(&arguments.text(0));
                Ok(Value::string(data.map_or(&[][..], |data| data)))
            }),
            "GetBytes" => method(one(BYTES), move |_, arguments| {
                let data = self.get(&arguments.text(0));
                Ok(Value::bytes(data.map_or(&[][..], |data| data)))
            }),
            "Glob" => method(one(FILES), move |_, arguments| {
                Ok(Value::Object(Rc::new(self.glob(&arguments.text(0)))))
            }),
            "Lines" => method(one(Type::STRINGS), move |_, arguments| {
                Ok(self.lines(&arguments.text(0)))
            }),
            "AsConfig" => method(Signature::fixed(&[], Type::String), move |_, _| {
                Ok(self.to_yaml(|data| String::from_utf8_lossy(data).into_owned()))
            }),
            "AsSecrets" => method(Signature::fixed(&[], Type::String), move |_, _| {
                Ok(self.to_yaml(|data| STANDARD.encode(data)))
            }),
            _ => return None,
        })
    }
}

fn method<F>(signature: Signature, body: F) -> Rc<dyn Callable>
where
    F: Fn(&mut Scope<'_>, Arguments) -> Result<Value, Failure> + 'static,
{
    Rc::new(Native::new(signature, body))
}
