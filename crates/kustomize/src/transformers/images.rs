use regex::Regex;
use sluice_goyaml::{Content, Node};

use super::Spec;
use crate::error::{ErrorKind, Result};
use crate::field_specs::FieldSpec;
use crate::kustomization::Image;
use crate::resource_map::ResourceMap;
use crate::tree::{self, Create, Outcome};

/// Changes names, tags and digests of images.
#[derive(Debug, Clone, Default)]
pub(crate) struct Images {
    pub(crate) image: Image,
    pub(crate) fields: Vec<FieldSpec>,
}

impl Images {
    pub(crate) fn apply(&self, map: &mut ResourceMap) -> Result<()> {
        let pattern = format!(
            "^{}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$",
            self.image.name
        );
        // kustomize 5.8.1 crashes on a name that is no regular expression; such a name matches nothing.
        let Ok(pattern) = Regex::new(&pattern) else {
            return Ok(());
        };
        let updater = Updater {
            image: &self.image,
            pattern,
        };
        let specs = Spec::all(&self.fields);
        for resource in map.contents_mut() {
            if resource.kind() == "CustomResourceDefinition" {
                continue;
            }
            let result = updater.update_containers(resource.node_mut());
            result.map_err(|problem| resource.error(ErrorKind::Transformer, problem))?;
        }
        for resource in map.contents_mut() {
            if resource.kind() == "CustomResourceDefinition" {
                continue;
            }
            let gvk = resource.gvk();
            for spec in &specs {
                spec.apply(resource, &gvk, Create::Nothing, &mut |node| updater.update(node))?;
            }
        }
        Ok(())
    }
}

struct Updater<'a> {
    image: &'a Image,
    pattern: Regex,
}

impl Updater<'_> {
    /// Updates the images of everything called `containers` or `initContainers`, wherever it is.
    fn update_containers(&self, node: &mut Node) -> Outcome<()> {
        match &mut node.content {
            Content::Mapping(mapping) => {
                for (name, value) in mapping.iter_mut() {
                    self.update_containers(value)?;
                    if name == "containers" || name == "initContainers" {
                        self.update_list(value)?;
                    }
                }
                Ok(())
            }
            Content::Sequence(items) => items.iter_mut().try_for_each(|item| self.update_containers(item)),
            _ => Ok(()),
        }
    }

    fn update_list(&self, node: &mut Node) -> Outcome<()> {
        let Some(items) = node.as_sequence_mut() else {
            return Ok(());
        };
        for item in items {
            if tree::is_null(item) {
                continue;
            }
            let found = tree::kind_name(item);
            let Some(mapping) = item.as_mapping_mut() else {
                return Err(format!("a container is {found}, not a mapping"));
            };
            if let Some(image) = mapping.get_mut("image") {
                self.update(image)?;
            }
        }
        Ok(())
    }

    fn update(&self, node: &mut Node) -> Outcome<()> {
        let Some(text) = node.text() else {
            return Err(format!("an image is {}, not a text", tree::kind_name(node)));
        };
        if !self.pattern.is_match(text) {
            return Ok(());
        }
        let (mut name, mut tag, mut digest) = split(text);
        let image = self.image;
        if !image.new_name.is_empty() {
            name.clone_from(&image.new_name);
        }
        match (image.new_tag.is_empty(), image.digest.is_empty()) {
            (false, false) => {
                tag.clone_from(&image.new_tag);
                digest.clone_from(&image.digest);
            }
            (false, true) => {
                tag.clone_from(&image.new_tag);
                digest.clear();
            }
            (true, false) => {
                tag.clear();
                digest.clone_from(&image.digest);
            }
            (true, true) if !image.tag_suffix.is_empty() => {
                tag.push_str(&image.tag_suffix);
                digest.clear();
            }
            (true, true) => {}
        }
        if !tag.is_empty() {
            name.push(':');
            name.push_str(&tag);
        }
        if !digest.is_empty() {
            name.push('@');
            name.push_str(&digest);
        }
        tree::replace_scalar(node, tree::untagged(name))
    }
}

/// Name, tag and digest.
fn split(image: &str) -> (String, String, String) {
    let start = image.find('/').unwrap_or(0);
    let at = image[start..].find('@').map(|index| index + start);
    let colon = image[start..].find(':').map(|index| index + start);
    let owned = |name: &str, tag: &str, digest: &str| (name.to_owned(), tag.to_owned(), digest.to_owned());
    match (colon, at) {
        (None, None) => owned(image, "", ""),
        (colon, Some(at)) if colon.is_none_or(|colon| at < colon) => {
            owned(&image[..at], "", &image[at + 1..])
        }
        (Some(colon), Some(at)) => owned(&image[..colon], &image[colon + 1..at], &image[at + 1..]),
        (Some(colon), None) => owned(&image[..colon], &image[colon + 1..], ""),
        (None, Some(at)) => owned(&image[..at], "", &image[at + 1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_split_into_name_tag_and_digest() {
        let cases = [
            ("nginx", ["nginx", "", ""]),
            ("host:5000/a/b:v1", ["host:5000/a/b", "v1", ""]),
            ("a@sha256:12", ["a", "", "sha256:12"]),
            ("host/a:v1@sha256:12", ["host/a", "v1", "sha256:12"]),
        ];
        for (image, expected) in cases {
            let (name, tag, digest) = split(image);
            assert_eq!(
                [name.as_str(), tag.as_str(), digest.as_str()],
                expected,
                "{image}"
            );
        }
    }
}
