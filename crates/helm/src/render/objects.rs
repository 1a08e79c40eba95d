//! The objects that templates see: `.Chart`, `.Release`, `.Capabilities`, and values under their Go types.

use std::borrow::Cow;
use std::rc::Rc;

use sluice_gotemplate::{
    Arguments, Callable, List, Map, Native, Object, Operand, Scope, Shape, Signature, Text, Type, Value,
};

use super::Target;
use crate::capabilities::{Capabilities, HelmVersion, KubeVersion};
use crate::chart::{Dependency, Maintainer, Metadata};
use crate::values::{go_numbers, to_template};

/// A map with the name of a Go type.
pub(super) struct Named {
    type_name: &'static str,
    map: Map,
}

impl Named {
    pub(super) fn value(type_name: &'static str, map: Map) -> Value {
        Value::Object(Rc::new(Self { type_name, map }))
    }
}

impl Object for Named {
    fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.type_name)
    }

    fn around(&self, plain: Value) -> Option<Value> {
        match plain {
            Value::Map(map) => Some(Self::value(self.type_name, map)),
            _ => None,
        }
    }

    fn shape(&self) -> Shape {
        Shape::Plain(Value::Map(self.map.clone()))
    }
}

pub(super) fn release_value(target: &Target) -> Value {
    Value::Map(Map::from_iter([
        ("Name", Value::from(target.name.as_str())),
        ("Namespace", Value::from(target.namespace.as_str())),
        ("IsUpgrade", Value::Bool(target.is_upgrade)),
        ("IsInstall", Value::Bool(!target.is_upgrade)),
        ("Revision", Value::int(target.revision)),
        ("Service", Value::from("Helm")),
    ]))
}

fn texts(texts: &[String]) -> Value {
    let texts = texts.iter().map(|text| Value::from(text.as_str()));
    Value::List(List::new(texts.collect()))
}

fn items<T>(items: &[T], convert: impl Fn(&T) -> Value) -> Value {
    Value::List(List::new(items.iter().map(convert).collect()))
}

/// The fields of `Chart.yaml` under their Go names.
pub(super) fn chart_value(metadata: &Metadata, is_root: bool) -> Value {
    let text = |text: &str| Value::from(text);
    let annotations = match &metadata.annotations {
        None => Map::nil(&Type::String),
        Some(annotations) => {
            let map = Map::typed(&Type::String);
            for (key, value) in annotations {
                map.insert(key.as_str(), text(value));
            }
            map
        }
    };
    let dependencies = metadata.dependencies.as_deref().unwrap_or_default();
    Value::Map(Map::from_iter([
        ("Name", text(&metadata.name)),
        ("Home", text(&metadata.home)),
        ("Sources", texts(&metadata.sources)),
        ("Version", text(&metadata.version)),
        ("Description", text(&metadata.description)),
        ("Keywords", texts(&metadata.keywords)),
        ("Maintainers", items(&metadata.maintainers, maintainer)),
        ("Icon", text(&metadata.icon)),
        ("APIVersion", text(&metadata.api_version)),
        ("Condition", text(&metadata.condition)),
        ("Tags", text(&metadata.tags)),
        ("AppVersion", text(&metadata.app_version)),
        ("Deprecated", Value::Bool(metadata.deprecated)),
        ("Annotations", Value::Map(annotations)),
        ("KubeVersion", text(&metadata.kube_version)),
        ("Dependencies", items(dependencies, dependency)),
        ("Type", text(&metadata.kind)),
        ("IsRoot", Value::Bool(is_root)),
    ]))
}

fn maintainer(maintainer: &Maintainer) -> Value {
    Value::Map(Map::from_iter([
        ("Name", Value::from(maintainer.name.as_str())),
        ("Email", Value::from(maintainer.email.as_str())),
        ("URL", Value::from(maintainer.url.as_str())),
    ]))
}

fn dependency(dependency: &Dependency) -> Value {
    let import_values = items(&dependency.import_values, |wanted| {
        match (dependency.imported, wanted.as_object()) {
            (true, Some(pair)) => {
                let map = Map::typed(&Type::String);
                for (key, path) in pair {
                    map.insert(key.as_str(), Value::from(path.as_str().unwrap_or_default()));
                }
                Value::Map(map)
            }
            _ => to_template(&go_numbers(wanted.clone())),
        }
    });
    Value::Map(Map::from_iter([
        ("Name", Value::from(dependency.name.as_str())),
        ("Version", Value::from(dependency.version.as_str())),
        ("Repository", Value::from(dependency.repository.as_str())),
        ("Condition", Value::from(dependency.condition.as_str())),
        ("Tags", texts(&dependency.tags)),
        ("Enabled", Value::Bool(dependency.enabled)),
        ("ImportValues", import_values),
        ("Alias", Value::from(dependency.alias.as_str())),
    ]))
}

/// `*common.Capabilities`.
struct CapabilitiesObject {
    kube_version: Value,
    api_versions: Value,
    helm_version: Value,
}

pub(super) fn capabilities_value(capabilities: &Capabilities) -> Value {
    Value::Object(Rc::new(CapabilitiesObject {
        kube_version: Value::Object(Rc::new(KubeVersionObject(capabilities.kube_version.clone()))),
        api_versions: Value::Object(Rc::new(VersionSet(List::strings(
            capabilities.api_versions.iter().map(String::as_str),
        )))),
        helm_version: Value::Object(Rc::new(HelmVersionObject(capabilities.helm_version.clone()))),
    }))
}

fn field(value: &Value) -> Operand {
    Operand::concrete(value.clone())
}

fn text_field(text: &str) -> Operand {
    Operand::concrete(Value::from(text))
}

impl Object for CapabilitiesObject {
    fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed("*common.Capabilities")
    }

    fn shape(&self) -> Shape {
        Shape::Pointer(vec![
            ("KubeVersion", field(&self.kube_version)),
            ("APIVersions", field(&self.api_versions)),
            ("HelmVersion", field(&self.helm_version)),
        ])
    }
}

struct KubeVersionObject(KubeVersion);

impl Object for KubeVersionObject {
    fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed("common.KubeVersion")
    }

    fn shape(&self) -> Shape {
        Shape::Struct(vec![
            ("Version", text_field(&self.0.version)),
            ("Major", text_field(&self.0.major)),
            ("Minor", text_field(&self.0.minor)),
        ])
    }

    fn text(&self) -> Option<Text> {
        Some(Text::from(self.0.compared.as_str()))
    }

    fn method(self: Rc<Self>, name: &str) -> Option<Rc<dyn Callable>> {
        let text = match name {
            "String" => self.0.compared.clone(),
            "GitVersion" => self.0.version.clone(),
            _ => return None,
        };
        let signature = Signature::fixed(&[], Type::String);
        Some(Rc::new(Native::new(signature, move |_, _| {
            Ok(Value::from(text.as_str()))
        })))
    }
}

struct VersionSet(List);

impl Object for VersionSet {
    fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed("common.VersionSet")
    }

    fn shape(&self) -> Shape {
        Shape::Plain(Value::List(self.0.clone()))
    }

    fn method(self: Rc<Self>, name: &str) -> Option<Rc<dyn Callable>> {
        if name != "Has" {
            return None;
        }
        let signature = Signature::fixed(&[Type::String], Type::Bool);
        let has = move |_: &mut Scope<'_>, arguments: Arguments| {
            let wanted = arguments.text(0);
            let is_wanted = |value: &Value| matches!(value, Value::String(text) if *text == wanted);
            Ok(Value::Bool(self.0.as_slice().iter().any(is_wanted)))
        };
        Some(Rc::new(Native::new(signature, has)))
    }
}

struct HelmVersionObject(HelmVersion);

impl Object for HelmVersionObject {
    fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed("version.BuildInfo")
    }

    fn shape(&self) -> Shape {
        Shape::Struct(vec![
            ("Version", text_field(&self.0.version)),
            ("GitCommit", text_field(&self.0.git_commit)),
            ("GitTreeState", text_field(&self.0.git_tree_state)),
            ("GoVersion", text_field(&self.0.go_version)),
            ("KubeClientVersion", text_field(&self.0.kube_client_version)),
        ])
    }
}
