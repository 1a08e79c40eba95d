use regex::Regex;
use sluice_goyaml::{Content, Node};

use super::Spec;
use crate::error::{ErrorKind, Result};
use crate::field_specs::FieldSpec;
use crate::kustomization::Image;
use crate::resource::Resource;
use crate::resource_map::ResourceMap;
use crate::tree::{self, Create, Outcome};

/// Changes names, tags and digests of images.
#[derive(Debug, Clone, Default)]
pub(crate) struct Images {
    pub(crate) images: Vec<Image>,
    pub(crate) fields: Vec<FieldSpec>,
}

impl Images {
    /// Goes through the objects once, with all images for each.
    pub(crate) fn apply(&self, map: &mut ResourceMap) -> Result<()> {
        let updaters: Vec<Updater<'_>> = self.images.iter().filter_map(Updater::new).collect();
        let specs = Spec::all(&self.fields);
        for resource in map.contents_mut() {
            if resource.kind() == "CustomResourceDefinition" {
                continue;
            }
            let mut texts = None;
            for updater in &updaters {
                // The first image also finds what is wrong with the object.
                let concerned = |texts: &Vec<String>| texts.iter().any(|text| updater.matches(text));
                if texts.as_ref().is_none_or(concerned) {
                    updater.update_object(resource, &specs)?;
                    texts = if updaters.len() > 1 {
                        Some(image_texts(resource, &specs)?)
                    } else {
                        None
                    };
                }
            }
        }
        Ok(())
    }
}

/// The images that an object names, each once.
fn image_texts(resource: &mut Resource, specs: &[Spec<'_>]) -> Result<Vec<String>> {
    let mut texts: Vec<String> = Vec::new();
    visit_images(resource, specs, &mut |node| {
        let text = tree::text_of(node);
        if !texts.iter().any(|known| known == text) {
            texts.push(text.to_owned());
        }
        Ok(())
    })?;
    Ok(texts)
}

/// Visits the images of everything called `containers` or `initContainers`, then the fields of the
/// specifications.
fn visit_images(
    resource: &mut Resource,
    specs: &[Spec<'_>],
    visit: &mut dyn FnMut(&mut Node) -> Outcome<()>,
) -> Result<()> {
    visit_containers(resource.node_mut(), visit)
        .map_err(|problem| resource.error(ErrorKind::Transformer, problem))?;
    let gvk = resource.gvk();
    specs
        .iter()
        .try_for_each(|spec| spec.apply(resource, &gvk, Create::Nothing, visit))
}

fn visit_containers(node: &mut Node, visit: &mut dyn FnMut(&mut Node) -> Outcome<()>) -> Outcome<()> {
    match &mut node.content {
        Content::Mapping(mapping) => {
            for (name, value) in mapping.iter_mut() {
                visit_containers(value, visit)?;
                if name == "containers" || name == "initContainers" {
                    visit_list(value, visit)?;
                }
            }
            Ok(())
        }
        Content::Sequence(items) => items
            .iter_mut()
            .try_for_each(|item| visit_containers(item, visit)),
        _ => Ok(()),
    }
}

fn visit_list(node: &mut Node, visit: &mut dyn FnMut(&mut Node) -> Outcome<()>) -> Outcome<()> {
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
            visit(image)?;
        }
    }
    Ok(())
}

/// Which images an entry is for.
enum Pattern {
    /// The name holds nothing that a regular expression takes for more than itself, but for dots.
    Literal,
    Expression(Regex),
}

struct Updater<'a> {
    image: &'a Image,
    pattern: Pattern,
}

fn is_of_tag(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_.{}-".contains(character)
}

impl<'a> Updater<'a> {
    /// None for a name that is no regular expression: kustomize 5.8.1 crashes on it, here it matches nothing.
    fn new(image: &'a Image) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/:.".contains(&byte);
        let pattern = if image.name.bytes().all(is_plain) {
            Pattern::Literal
        } else {
            let pattern = format!(
                "^{}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$",
                image.name
            );
            Pattern::Expression(Regex::new(&pattern).ok()?)
        };
        Some(Self { image, pattern })
    }

    /// Whether the entry is for an image: the name, perhaps with tag and digest.
    fn matches(&self, text: &str) -> bool {
        match &self.pattern {
            Pattern::Expression(pattern) => pattern.is_match(text),
            Pattern::Literal => {
                let mut rest = text.chars();
                let named = self.image.name.chars().all(|wanted| {
                    rest.next()
                        .is_some_and(|found| found == wanted || (wanted == '.' && found != '\n'))
                });
                let mut rest = rest.as_str();
                if let Some(tag) = rest.strip_prefix(':') {
                    rest = tag.trim_start_matches(is_of_tag);
                }
                if let Some(digest) = rest.strip_prefix("@sha256:") {
                    rest = digest.trim_start_matches(is_of_tag);
                }
                named && rest.is_empty()
            }
        }
    }

    fn update_object(&self, resource: &mut Resource, specs: &[Spec<'_>]) -> Result<()> {
        visit_images(resource, specs, &mut |node| self.update(node))
    }

    fn update(&self, node: &mut Node) -> Outcome<()> {
        let Some(text) = node.text() else {
            return Err(format!("an image is {}, not a text", tree::kind_name(node)));
        };
        if !self.matches(text) {
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
    fn literal_names_match_as_the_expression_does() {
        let names = ["app", "a.b/app", "host:5000/app", "app-x_1"];
        let tails = [
            "",
            ":",
            ":1.0",
            ":{x}",
            "@sha256:ab",
            ":1@sha256:ab",
            "@sha1:ab",
            ":1:2",
            "x",
            " ",
            "\n",
        ];
        for name in names {
            let image = Image {
                name: name.to_owned(),
                ..Image::default()
            };
            let literal = Updater::new(&image).unwrap();
            assert!(matches!(literal.pattern, Pattern::Literal));
            let pattern = format!("^{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$");
            let expression = Regex::new(&pattern).unwrap();
            for head in [
                "app",
                "a.b/app",
                "aäb/app",
                "a\nb/app",
                "host:5000/app",
                "app-x_1",
                "",
                "ap",
            ] {
                for tail in tails {
                    let text = format!("{head}{tail}");
                    assert_eq!(
                        literal.matches(&text),
                        expression.is_match(&text),
                        "{name} {text:?}"
                    );
                }
            }
        }
    }

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
