//! ConfigMaps and Secrets from literals, files and env files.

mod sources;

use base64::Engine as _;
use sluice_goyaml::{Mapping, Node};
use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};
use crate::kustomization::{ConfigMapArgs, GeneratorOptions, SecretArgs};
use crate::loader::Loader;
use crate::resource::Resource;
use crate::tree;

/// The options of one generator under those for all.
pub(crate) fn merge_options(
    own: Option<&GeneratorOptions>,
    global: Option<&GeneratorOptions>,
) -> Option<GeneratorOptions> {
    let Some(global) = global else { return own.cloned() };
    let mut result = own.cloned().unwrap_or_default();
    for (key, value) in &global.labels {
        result.labels.entry(key.clone()).or_insert_with(|| value.clone());
    }
    for (key, value) in &global.annotations {
        result
            .annotations
            .entry(key.clone())
            .or_insert_with(|| value.clone());
    }
    result.disable_name_suffix_hash |= global.disable_name_suffix_hash;
    result.immutable |= global.immutable;
    Some(result)
}

/// Makes a ConfigMap.
///
/// # Errors
/// No name, sources that cannot be read or understood, keys that come twice.
pub(crate) fn make_config_map(args: &ConfigMapArgs, loader: &Loader<'_>, file: &str) -> Result<Resource> {
    let context = Context {
        field: "configMapGenerator",
        file,
        args,
    };
    let mut root = context.base("ConfigMap")?;
    let mut data = Mapping::new();
    let mut binary = Mapping::new();
    for (key, value) in context.pairs(loader)? {
        let key = Node::plain(key);
        match String::from_utf8(value) {
            Ok(text) => data.push(key, tree::string(text)),
            Err(error) => binary.push(key, tree::string(encode_base64(error.as_bytes()))),
        }
    }
    for (field, values) in [("data", data), ("binaryData", binary)] {
        if !values.is_empty() {
            root.push(Node::plain(field), Node::mapping(values));
        }
    }
    Ok(context.finish(root))
}

/// Makes a Secret.
///
/// # Errors
/// As [`make_config_map`].
pub(crate) fn make_secret(args: &SecretArgs, loader: &Loader<'_>, file: &str) -> Result<Resource> {
    let context = Context {
        field: "secretGenerator",
        file,
        args: &args.base,
    };
    let mut root = context.base("Secret")?;
    let secret_type = if args.secret_type.is_empty() {
        "Opaque"
    } else {
        &args.secret_type
    };
    root.push(Node::plain("type"), tree::string(secret_type));
    let mut data = Mapping::new();
    for (key, value) in context.pairs(loader)? {
        data.push(Node::plain(key), tree::string(encode_base64(&value)));
    }
    root.push(Node::plain("data"), Node::mapping(data));
    Ok(context.finish(root))
}

struct Context<'a> {
    field: &'static str,
    file: &'a str,
    args: &'a ConfigMapArgs,
}

impl Context<'_> {
    fn error(&self, problem: impl Into<String>) -> Error {
        Error::new(ErrorKind::Generator, problem)
            .in_file(self.file)
            .at_line(self.args.line)
            .at_field(format!("{}[{}]", self.field, self.args.name))
    }

    fn base(&self, kind: &str) -> Result<Mapping> {
        if self.args.name.is_empty() {
            return Err(self
                .error("the name is missing")
                .remedy("give every generator a name"));
        }
        let mut metadata = Mapping::new();
        metadata.push(Node::plain("name"), tree::string(self.args.name.as_str()));
        if !self.args.namespace.is_empty() {
            metadata.push(
                Node::plain("namespace"),
                tree::string(self.args.namespace.as_str()),
            );
        }
        let mut root = Mapping::new();
        root.push(Node::plain("apiVersion"), Node::plain("v1"));
        root.push(Node::plain("kind"), Node::plain(kind));
        root.push(Node::plain("metadata"), Node::mapping(metadata));
        Ok(root)
    }

    /// The keys and values, sorted.
    fn pairs(&self, loader: &Loader<'_>) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut result = BTreeMap::new();
        let pairs = sources::read(self.args, loader).map_err(|error| {
            error
                .in_file(self.file)
                .at_line(self.args.line)
                .at_field(format!("{}[{}]", self.field, self.args.name))
        })?;
        for (key, value) in pairs {
            if result.contains_key(&key) {
                return Err(self
                    .error(format!("the key {key:?} comes twice"))
                    .remedy("remove one of them"));
            }
            result.insert(key, value);
        }
        Ok(result)
    }

    fn finish(&self, mut root: Mapping) -> Resource {
        let options = self.args.options.clone().unwrap_or_default();
        if let Some(metadata) = root.get_mut("metadata").and_then(Node::as_mapping_mut) {
            for (field, values) in [("labels", &options.labels), ("annotations", &options.annotations)] {
                if !values.is_empty() {
                    let mut map = Mapping::new();
                    for (key, value) in values {
                        map.push(Node::plain(key.as_str()), tree::string(value.as_str()));
                    }
                    metadata.push(Node::plain(field), Node::mapping(map));
                }
            }
        }
        if options.immutable {
            root.push(Node::plain("immutable"), Node::boolean(true));
        }
        let mut resource = Resource::new(Node::mapping(root));
        resource.state.needs_hash = !options.disable_name_suffix_hash;
        resource.state.behavior = Some(match self.args.behavior.as_str() {
            known @ ("create" | "merge" | "replace") => known.to_owned(),
            _ => "unspecified".to_owned(),
        });
        resource.source = Some(format!("{} in {}", self.field, self.file).into());
        resource
    }
}

/// Base64 in lines of 70 characters, each with a newline if there is more than one.
fn encode_base64(data: &[u8]) -> String {
    const LINE: usize = 70;
    let encoded = base64::engine::general_purpose::STANDARD.encode(data);
    if encoded.len() / LINE == 0 {
        return encoded;
    }
    let mut result = String::with_capacity(encoded.len() + encoded.len() / LINE + 1);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(LINE.min(rest.len()));
        result.push_str(line);
        result.push('\n');
        rest = tail;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_base64_is_broken_into_lines() {
        assert_eq!(encode_base64(b"a"), "YQ==");
        let lines = encode_base64(&[0; 60]);
        assert_eq!(lines.lines().map(str::len).collect::<Vec<_>>(), [70, 10]);
        assert!(lines.ends_with('\n'));
    }
}
