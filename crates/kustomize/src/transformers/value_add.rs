use super::namespace::Namespace;
use crate::error::{ErrorKind, Result};
use crate::field_specs::split_path;
use crate::kustomization::Selector;
use crate::resource_map::{Matcher, ResourceMap};
use crate::schema::Schema;
use crate::tree::{self, Create};

/// Where a value is added.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueTarget {
    pub(crate) selector: Option<Selector>,
    /// Steps separated by `/`.
    pub(crate) field_path: String,
    /// From 1: the place in the field's own path where the value goes; 0 replaces the field.
    pub(crate) position: usize,
}

/// The plugin `ValueAddTransformer`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueAdd {
    pub(crate) value: String,
    pub(crate) targets: Vec<ValueTarget>,
}

impl ValueAdd {
    pub(crate) fn apply(&self, map: &mut ResourceMap, schema: &Schema) -> Result<()> {
        for target in &self.targets {
            let matcher = target.selector.as_ref().map(Matcher::new).transpose()?;
            let steps = split_path(&target.field_path, '/');
            for resource in map.resources_mut() {
                if matcher
                    .as_ref()
                    .is_some_and(|matcher| !matcher.selects(resource, schema))
                {
                    continue;
                }
                if target.field_path == "metadata/namespace" {
                    let namespace = Namespace {
                        namespace: self.value.clone(),
                        ..Namespace::default()
                    };
                    namespace.apply_to(resource, schema)?;
                    continue;
                }
                let path: Vec<&str> = steps.iter().map(String::as_str).collect();
                let result =
                    tree::lookup_create(resource.node_mut(), &path, Create::Scalar("")).and_then(|node| {
                        let value = match target.position {
                            0 => self.value.clone(),
                            position => insert_part(tree::text_of(node), position - 1, &self.value),
                        };
                        tree::replace_scalar(node, tree::untagged(value))
                    });
                result.map_err(|problem| {
                    resource
                        .error(ErrorKind::Transformer, problem)
                        .at_field(target.field_path.as_str())
                })?;
            }
        }
        Ok(())
    }
}

/// Puts a part into a file path; an absolute path stays absolute.
fn insert_part(path: &str, position: usize, part: &str) -> String {
    if path.is_empty() {
        return part.to_owned();
    }
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    parts.insert(position.min(parts.len()), part);
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_go_into_paths_at_their_place() {
        for (path, position, expected) in [
            ("", 3, "PEACH"),
            ("/", 0, "/PEACH"),
            ("pie", 0, "PEACH/pie"),
            ("/raw", 1, "/raw/PEACH"),
            ("a/nice/warm/pie", 3, "a/nice/warm/PEACH/pie"),
        ] {
            assert_eq!(insert_part(path, position, "PEACH"), expected);
        }
    }
}
