use sluice_goyaml::{Content, Flavour, Node, Style, json_from_node, write_v3_node};

use crate::error::{Error, ErrorKind, Result};
use crate::kustomization::{FieldOptions, Replacement, SourceSelector, TargetSelector};
use crate::resource::{DEFAULT_NAMESPACE, Resource, ResourceId, go_json};
use crate::resource_map::{Matcher, ResourceMap};
use crate::schema::Schema;
use crate::tree::{self, Create, Outcome};

const DEFAULT_PATH: &str = "metadata.name";

/// Copies values between objects.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replacements {
    pub(crate) replacements: Vec<Replacement>,
}

impl Replacements {
    pub(crate) fn apply(&self, map: &mut ResourceMap, schema: &Schema) -> Result<()> {
        for (index, replacement) in self.replacements.iter().enumerate() {
            run(replacement, map, schema).map_err(|error| {
                error
                    .at_field(format!("replacements[{index}]"))
                    .at_line(replacement.line)
            })?;
        }
        Ok(())
    }
}

fn problem(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Replacement, text)
}

fn run(replacement: &Replacement, map: &mut ResourceMap, schema: &Schema) -> Result<()> {
    let has_source = replacement.source.is_some() || replacement.source_value.is_some();
    let Some(targets) = replacement.targets.as_ref().filter(|_| has_source) else {
        return Err(
            problem("a replacement needs a source and at least one target").remedy("add source and targets")
        );
    };
    let mut value = match (&replacement.source, &replacement.source_value) {
        (Some(_), Some(_)) => {
            return Err(problem("source and sourceValue exclude each other").remedy("remove one of them"));
        }
        (None, Some(value)) => Source::fixed(tree::untagged(value.as_str())),
        (Some(source), None) => read_source(source, map, schema)?,
        (None, None) => return Ok(()),
    };
    targets
        .iter()
        .try_for_each(|target| write_target(target, &mut value, map, schema))
}

/// What is copied. A whole field of an object stays that field: what a replacement changes in it is what it
/// copies next.
struct Source {
    value: Node,
    /// Position of the object, and the path in it.
    field: Option<(usize, Vec<String>)>,
}

impl Source {
    fn fixed(value: Node) -> Self {
        Self { value, field: None }
    }

    /// Whether it is a field of the object at this position.
    fn is_in(&self, position: usize) -> bool {
        self.field.as_ref().is_some_and(|(place, _)| *place == position)
    }

    fn refresh(&mut self, object: &Node) {
        if let Some((_, steps)) = &self.field
            && let Ok(Some(node)) = tree::lookup(object, steps)
        {
            self.value = tree::unshared(node);
        }
    }
}

/// Present and former identities; here, kustomize does not know the scope of kinds.
fn ids(resource: &Resource, schema: &Schema) -> Vec<ResourceId> {
    let mut current = resource.id(schema);
    current.cluster_scoped = false;
    std::iter::once(current).chain(resource.previous_ids()).collect()
}

fn is_or_was_of_kind(resource: &Resource, kind: &str) -> bool {
    kind.is_empty()
        || resource.kind() == kind
        || resource.state.previous.iter().any(|id| id.kind.as_ref() == kind)
}

fn read_source(source: &SourceSelector, map: &mut ResourceMap, schema: &Schema) -> Result<Source> {
    let effective = |namespace: &str| {
        if namespace.is_empty() {
            DEFAULT_NAMESPACE.to_owned()
        } else {
            namespace.to_owned()
        }
    };
    let selects = |id: &ResourceId| {
        (source.name.is_empty() || source.name == id.name)
            && (source.namespace.is_empty() || effective(&source.namespace) == effective(&id.namespace))
            && id
                .gvk
                .is_selected_by(&source.group, &source.version, &source.kind)
    };
    let name = Some(source.name.as_str()).filter(|name| !name.is_empty());
    let candidates = map.candidates(name);
    let mut matches = candidates
        .into_iter()
        .filter_map(|position| Some((position, map.get(position)?)))
        .filter(|(_, resource)| {
            !resource.is_empty()
                && is_or_was_of_kind(resource, &source.kind)
                && ids(resource, schema).iter().any(selects)
        });
    let label = format!("{} {}", source.kind, source.name);
    let Some((position, resource)) = matches.next() else {
        return Err(
            problem(format!("there is no object {label} to take the value from"))
                .remedy("correct the source, or add the object"),
        );
    };
    if let Some((_, other)) = matches.next() {
        return Err(problem(format!(
            "several objects match the source {label}: {} and {}",
            resource.describe(),
            other.describe()
        ))
        .remedy("name one object"));
    }
    let path = if source.field_path.is_empty() {
        DEFAULT_PATH
    } else {
        &source.field_path
    };
    let steps = tree::split_smart(path);
    let wide;
    let whole = shows_annotations(&steps);
    let root = if whole {
        let mut copy = resource.clone();
        let state = copy.state.clone();
        state.write_into(copy.node_mut()).map_err(problem)?;
        wide = copy;
        wide.node()
    } else {
        resource.node()
    };
    let found =
        tree::lookup(root, &steps).map_err(|text| problem(format!("the source field {path}: {text}")))?;
    let Some(node) = found.filter(|node| !tree::is_null_or_empty(node)) else {
        return Err(problem(format!(
            "{} has no field {path} to take the value from",
            resource.describe()
        ))
        .remedy("correct source.fieldPath"));
    };
    match source
        .options
        .as_ref()
        .filter(|options| !options.delimiter.is_empty())
    {
        Some(options) => refine(options, node).map(Source::fixed),
        None => Ok(Source {
            value: tree::unshared(node),
            field: (!whole).then_some((position, steps)),
        }),
    }
}

/// Whether a path leads to all annotations, among which kustomize keeps its notes.
fn shows_annotations(steps: &[String]) -> bool {
    match steps {
        [first] => first == "metadata",
        [first, second] => first == "metadata" && second == "annotations",
        _ => false,
    }
}

fn refine(options: &FieldOptions, node: &Node) -> Result<Node> {
    let Some(text) = node.text() else {
        return Err(problem("a delimiter needs a scalar source").remedy("remove options.delimiter"));
    };
    let part = usize::try_from(options.index)
        .ok()
        .and_then(|index| text.split(options.delimiter.as_str()).nth(index));
    let Some(part) = part else {
        return Err(problem(format!(
            "the index {} is out of range for {text:?}",
            options.index
        ))
        .remedy("correct options.index"));
    };
    let mut copy = tree::unshared(node);
    tree::set_text(&mut copy, part);
    Ok(copy)
}

fn write_target(
    target: &TargetSelector,
    source: &mut Source,
    map: &mut ResourceMap,
    schema: &Schema,
) -> Result<()> {
    let Some(select) = &target.select else {
        return Err(problem("a target must say which objects it means").remedy("add select"));
    };
    let select = Matcher::new(select)?;
    let rejects: Vec<Matcher> = target.reject.iter().map(Matcher::new).collect::<Result<_>>()?;
    for position in map.candidates(select.literal_name()) {
        let Some(resource) = map.get(position) else {
            continue;
        };
        if resource.is_empty()
            || !select.matches_kind(resource)
            || !select.matches_labels(resource)
            || rejects
                .iter()
                .any(|reject| reject.has_labels() && reject.matches_labels(resource))
        {
            continue;
        }
        let ids = ids(resource, schema);
        let matches = |matcher: &Matcher, id: &ResourceId| {
            matcher.matches_gvk(&id.gvk)
                && matcher.matches_name(&id.name)
                && matcher.matches_namespace(&id.namespace)
        };
        let rejected = rejects
            .iter()
            .any(|reject| !reject.has_no_id && ids.iter().any(|id| matches(reject, id)));
        if !rejected && ids.iter().any(|id| matches(&select, id)) {
            let own = source.is_in(position);
            map.change(position, schema, |resource| {
                write_fields(resource, target, source, own)
            })?;
        }
    }
    Ok(())
}

fn write_fields(
    resource: &mut Resource,
    target: &TargetSelector,
    source: &mut Source,
    own: bool,
) -> Result<()> {
    let default = [DEFAULT_PATH.to_owned()];
    let paths = if target.field_paths.is_empty() {
        &default[..]
    } else {
        &target.field_paths
    };
    let options = target.options.clone().unwrap_or_default();
    for path in paths {
        let steps = tree::split_smart(path);
        let label = resource.describe();
        let mut write = |node: &mut Node| {
            let written = if own {
                write_own_field(node, &steps, source, &options)
            } else {
                write_field(node, &steps, &source.value, &options)
            };
            written.map_err(|text| {
                problem(format!(
                    "{label}: the field {path} cannot be {}: {text}",
                    if options.create { "made" } else { "found" }
                ))
                .remedy("correct the field path, or set options.create")
            })
        };
        if shows_annotations(&steps) {
            resource.with_visible_state(write)?;
        } else {
            write(resource.node_mut())?;
        }
        resource.settle_shares();
        if own {
            source.refresh(resource.node());
        }
    }
    Ok(())
}

fn creation(value: &Node, options: &FieldOptions) -> Option<Create> {
    options.create.then_some(match value.content {
        Content::Mapping(_) => Create::Mapping,
        Content::Sequence(_) => Create::Sequence,
        _ => Create::Scalar(""),
    })
}

/// Writes into the object that the value comes from: each field gets what the source is by then.
fn write_own_field(
    node: &mut Node,
    steps: &[String],
    source: &mut Source,
    options: &FieldOptions,
) -> Outcome<()> {
    source.refresh(node);
    let create = creation(&source.value, options);
    if let Ok(true) = write_structured(node, steps, &source.value, create) {
        return Ok(());
    }
    let count = tree::match_path(node, steps, create, &mut |_| Ok(()))?;
    // Without delimiter, all fields get the same.
    if options.delimiter.is_empty() {
        source.refresh(node);
        return write_field(node, steps, &source.value, options);
    }
    for turn in 0..count {
        source.refresh(node);
        let mut index = 0;
        tree::match_path(node, steps, create, &mut |field| {
            index += 1;
            if index == turn + 1 {
                set_value(field, &source.value, options)?;
            }
            Ok(())
        })?;
    }
    match count {
        0 => Err("there is no such field".to_owned()),
        _ => Ok(()),
    }
}

fn write_field(node: &mut Node, steps: &[String], value: &Node, options: &FieldOptions) -> Outcome<()> {
    let create = creation(value, options);
    if let Ok(true) = write_structured(node, steps, value, create) {
        return Ok(());
    }
    match tree::match_path(node, steps, create, &mut |field| set_value(field, value, options))? {
        0 => Err("there is no such field".to_owned()),
        _ => Ok(()),
    }
}

fn set_value(field: &mut Node, value: &Node, options: &FieldOptions) -> Outcome<()> {
    let mut text = tree::text_of(value).to_owned();
    if !options.delimiter.is_empty() {
        let Some(old) = field.text() else {
            return Err("a delimiter needs a scalar field".to_owned());
        };
        let mut parts: Vec<&str> = old.split(options.delimiter.as_str()).collect();
        let new = tree::value_of(value);
        match usize::try_from(options.index) {
            Err(_) => parts.insert(0, new),
            Ok(index) if index >= parts.len() => parts.push(new),
            Ok(index) => parts[index] = new,
        }
        text = parts.join(&options.delimiter);
    }
    if field.text().is_none() {
        tree::overwrite(field, value.clone());
    } else {
        tree::set_text(field, text);
    }
    Ok(())
}

/// Writes into YAML or JSON that stands in a scalar field. False if the path does not lead into one.
fn write_structured(
    root: &mut Node,
    steps: &[String],
    value: &Node,
    create: Option<Create>,
) -> Outcome<bool> {
    for length in 1..steps.len() {
        let Ok(Some(found)) = tree::lookup(root, &steps[..length]) else {
            continue;
        };
        let Some(text) = found.text() else { continue };
        let text = text.to_owned();
        let Ok(mut inner) = tree::parse_structured(&text) else {
            continue;
        };
        let count = tree::match_path(&mut inner, &steps[length..], create, &mut |field| {
            set_structured_value(field, value);
            Ok(())
        })?;
        if count == 0 {
            return Err("there is no such field in the structured text".to_owned());
        }
        let written = print_structured(&inner, &text)?;
        if let Some(field) = tree::lookup_mut(root, &steps[..length])? {
            tree::set_text(field, written);
        }
        return Ok(true);
    }
    Ok(false)
}

/// Writes into a field of a text. What was a string stays one, by quotes where it would read as something
/// else; only a tag that the text itself shows is kept.
fn set_structured_value(field: &mut Node, value: &Node) {
    match &mut field.content {
        Content::Scalar(text) if field.tag.is_some() => *text = tree::text_of(value).into(),
        Content::Scalar(_) => {
            tree::set_text(field, tree::text_of(value));
            quote_pinned_strings(field);
        }
        _ => {
            *field = value.clone();
            quote_pinned_strings(field);
        }
    }
}

/// Replaces the tag of strings by quotes, as `yaml.v3` prints strings whose tag nobody wrote.
fn quote_pinned_strings(node: &mut Node) {
    match &mut node.content {
        Content::Scalar(_) if node.tag.as_deref() == Some(tree::STRING) && node.style == Style::Plain => {
            node.tag = None;
            node.style = Style::DoubleQuoted;
        }
        Content::Sequence(items) => items.iter_mut().for_each(quote_pinned_strings),
        Content::Mapping(mapping) => mapping.values_mut().for_each(quote_pinned_strings),
        _ => {}
    }
}

fn print_structured(node: &Node, original: &str) -> Outcome<String> {
    if original.trim_start().starts_with(['{', '[']) {
        let value = json_from_node(node, Flavour::Kyaml).map_err(|error| error.to_string())?;
        if original.contains('\n') && original.contains("  ") {
            return Ok(indent_json(&go_json(&value)));
        }
        return Ok(go_json(&value));
    }
    Ok(write_v3_node(node, true).trim().to_owned())
}

/// Go's `MarshalIndent` with two spaces, made from compact JSON.
fn indent_json(compact: &str) -> String {
    let mut out = String::with_capacity(compact.len() * 2);
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    let mut characters = compact.chars().peekable();
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(character) = characters.next() {
        if in_string {
            out.push(character);
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            '"' => {
                in_string = true;
                out.push('"');
            }
            '{' | '[' => {
                out.push(character);
                if matches!(characters.peek(), Some('}' | ']')) {
                    out.extend(characters.next());
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_json_is_indented_as_in_go() {
        let text = indent_json(r#"{"a":{"b":[1,"x:,{"],"c":[]},"d":{}}"#);
        assert_eq!(
            text,
            "{\n  \"a\": {\n    \"b\": [\n      1,\n      \"x:,{\"\n    ],\n    \"c\": []\n  },\n  \"d\": {}\n}"
        );
    }
}
