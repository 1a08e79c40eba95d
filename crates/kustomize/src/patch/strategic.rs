//! Strategic merge as kyaml does it: the patch's values win, null removes, lists merge by the schema's keys
//! with the patch's elements first, and `$patch` directives delete or replace.

use sluice_goyaml::{Content, Mapping, Node};

use super::lists::merge_list;
use crate::schema::{Schema, TypeRef};
use crate::tree::{self, Outcome};

/// The key of directives.
pub(super) const DIRECTIVE: &str = "$patch";

/// What a merge leaves in a place.
#[derive(Debug)]
pub(super) enum Merged {
    /// The target's node, changed in place.
    Target,
    /// The patch's node.
    Patch(Node),
    /// Nothing.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

fn parse_directive(text: &str) -> Outcome<Directive> {
    match text {
        "delete" => Ok(Directive::Delete),
        "replace" => Ok(Directive::Replace),
        "merge" => Ok(Directive::Merge),
        other => Err(format!(
            "the directive $patch: {other} is unknown; use delete, replace or merge"
        )),
    }
}

/// Takes the directive out of a mapping.
fn take_directive(mapping: &mut Mapping) -> Outcome<Directive> {
    let Some(node) = mapping.get(DIRECTIVE) else {
        return Ok(Directive::Merge);
    };
    let directive = parse_directive(tree::text_of(node))?;
    mapping.remove(DIRECTIVE);
    Ok(directive)
}

/// Applies a patch to an object. The target becomes null if the patch deletes it.
pub(crate) fn apply(target: &mut Node, patch: Node, schema: &Schema) -> Outcome<()> {
    let merged = Merger { schema }.both(target, patch, None)?;
    match merged {
        Merged::Target => {}
        Merged::Patch(node) => *target = node,
        Merged::Nothing => *target = Node::null(),
    }
    Ok(())
}

/// Merges nodes by a schema.
#[derive(Clone, Copy)]
pub(super) struct Merger<'a> {
    schema: &'a Schema,
}

impl<'a> Merger<'a> {
    /// The type of what is merged: given by the parent, or by kind and apiVersion of an embedded object.
    fn type_of(&self, known: Option<TypeRef<'a>>, nodes: &[&Node]) -> Option<TypeRef<'a>> {
        if known.is_some() {
            return known;
        }
        nodes.iter().find_map(|node| {
            let mapping = node.as_mapping()?;
            let text = |field: &str| mapping.get(field).map_or("", tree::value_of);
            self.schema.of_kind(text("apiVersion"), text("kind"))
        })
    }

    /// Target and patch are both there.
    pub(super) fn both(&self, target: &mut Node, patch: Node, known: Option<TypeRef<'a>>) -> Outcome<Merged> {
        if tree::is_null(target) {
            return self
                .only_patch(patch, known)
                .map(|merged| merged.map_or(Merged::Nothing, Merged::Patch));
        }
        let null_patch = tree::is_null(&patch);
        if !null_patch && std::mem::discriminant(&target.content) != std::mem::discriminant(&patch.content) {
            return Err(format!(
                "the patch has {} where the object has {}",
                tree::kind_name(&patch),
                tree::kind_name(target)
            ));
        }
        let kind = self.type_of(known, &[target, &patch]);
        match &mut target.content {
            Content::Mapping(fields) => {
                if null_patch {
                    return Ok(Merged::Nothing);
                }
                self.mappings(fields, patch, kind.as_ref())
            }
            Content::Sequence(items) => {
                let Some(strategy) = kind
                    .as_ref()
                    .and_then(TypeRef::strategy)
                    .filter(|strategy| strategy.merges())
                else {
                    return Ok(Merged::Patch(patch));
                };
                if null_patch {
                    return Ok(Merged::Nothing);
                }
                let mut patch = patch;
                let Some(elements) = patch.as_sequence_mut() else {
                    return Ok(Merged::Nothing);
                };
                let element_kind = kind.as_ref().and_then(TypeRef::elements);
                match take_list_directive(elements)? {
                    Directive::Delete => Ok(Merged::Nothing),
                    Directive::Replace => {
                        let elements = std::mem::take(elements);
                        patch.content = Content::Sequence(merge_list(
                            self,
                            elements,
                            None,
                            true,
                            strategy,
                            element_kind,
                        )?);
                        Ok(Merged::Patch(patch))
                    }
                    Directive::Merge => {
                        let (own, theirs) = (std::mem::take(items), std::mem::take(elements));
                        *items = merge_list(self, own, Some(theirs), false, strategy, element_kind)?;
                        Ok(Merged::Target)
                    }
                }
            }
            _ => Ok(Merged::Patch(patch)),
        }
    }

    fn mappings(&self, fields: &mut Mapping, mut patch: Node, kind: Option<&TypeRef<'a>>) -> Outcome<Merged> {
        let Some(changes) = patch.as_mapping_mut() else {
            return Ok(Merged::Nothing);
        };
        match take_directive(changes)? {
            Directive::Delete => return Ok(Merged::Nothing),
            Directive::Replace => {
                self.settle_fields(changes, kind)?;
                return Ok(Merged::Patch(patch));
            }
            Directive::Merge => {}
        }
        let changes = std::mem::take(changes);
        self.untouched_fields(fields, Some(&changes), kind)?;
        for entry in changes.into_entries() {
            let name = entry.key.text().unwrap_or_default().to_owned();
            let child = kind.and_then(|kind| kind.field(&name));
            let merged = match fields.get_mut(&name) {
                Some(target) => self
                    .both(target, entry.value, child)
                    .map_err(|problem| below(&name, &problem))?,
                None => self
                    .only_patch(entry.value, child)
                    .map_err(|problem| below(&name, &problem))?
                    .map_or(Merged::Nothing, Merged::Patch),
            };
            put(fields, entry.key, &name, merged)?;
        }
        Ok(Merged::Target)
    }

    /// Fields of the target that the patch does not name: kyaml walks them too, and drops nulls without text.
    fn untouched_fields(
        &self,
        fields: &mut Mapping,
        changes: Option<&Mapping>,
        kind: Option<&TypeRef<'a>>,
    ) -> Outcome<()> {
        let mut gone = Vec::new();
        for (name, value) in fields.iter_mut() {
            if changes.is_some_and(|changes| changes.contains_key(name)) {
                continue;
            }
            let child = kind.and_then(|kind| kind.field(name));
            if !self.only_target(value, child)? {
                gone.push(name.to_owned());
            }
            tree::quote_ambiguous(value);
        }
        for name in gone {
            fields.remove(&name);
        }
        Ok(())
    }

    /// The patch says nothing about this node. Returns whether it stays.
    pub(super) fn only_target(&self, target: &mut Node, known: Option<TypeRef<'a>>) -> Outcome<bool> {
        if tree::is_null(target) {
            return Ok(!tree::text_of(target).is_empty());
        }
        let kind = self.type_of(known, &[target]);
        match &mut target.content {
            Content::Mapping(fields) => self.untouched_fields(fields, None, kind.as_ref())?,
            Content::Sequence(items) => {
                if let Some(strategy) = kind
                    .as_ref()
                    .and_then(TypeRef::strategy)
                    .filter(|strategy| strategy.merges())
                {
                    let element_kind = kind.as_ref().and_then(TypeRef::elements);
                    *items = merge_list(self, std::mem::take(items), None, false, strategy, element_kind)?;
                }
            }
            _ => {}
        }
        Ok(true)
    }

    /// There is no target: the patch's node is taken, without what it removes. None if it deletes.
    pub(super) fn only_patch(&self, mut patch: Node, known: Option<TypeRef<'a>>) -> Outcome<Option<Node>> {
        let kind = self.type_of(known, &[&patch]);
        match &mut patch.content {
            Content::Mapping(fields) => {
                // An unknown directive is left where it is.
                if matches!(take_directive(fields), Ok(Directive::Delete)) {
                    return Ok(None);
                }
                self.settle_fields(fields, kind.as_ref())?;
            }
            Content::Sequence(items) => {
                if let Some(strategy) = kind
                    .as_ref()
                    .and_then(TypeRef::strategy)
                    .filter(|strategy| strategy.merges())
                {
                    let element_kind = kind.as_ref().and_then(TypeRef::elements);
                    *items = merge_list(self, std::mem::take(items), None, true, strategy, element_kind)?;
                }
            }
            _ => {}
        }
        Ok(Some(patch))
    }

    fn settle_fields(&self, fields: &mut Mapping, kind: Option<&TypeRef<'a>>) -> Outcome<()> {
        let mut gone = Vec::new();
        for (name, value) in fields.iter_mut() {
            let child = kind.and_then(|kind| kind.field(name));
            if !self
                .settle(value, child)
                .map_err(|problem| below(name, &problem))?
                || tree::is_null(value)
            {
                gone.push(name.to_owned());
            }
            tree::quote_ambiguous(value);
        }
        for name in gone {
            fields.remove(&name);
        }
        Ok(())
    }

    /// Carries out the directives in a node of the patch that has become the target itself. Returns whether
    /// it stays.
    pub(super) fn settle(&self, node: &mut Node, known: Option<TypeRef<'a>>) -> Outcome<bool> {
        let kind = self.type_of(known, &[node]);
        match &mut node.content {
            Content::Mapping(fields) => {
                if take_directive(fields)? == Directive::Delete {
                    return Ok(false);
                }
                self.settle_fields(fields, kind.as_ref())?;
            }
            Content::Sequence(items) => {
                if let Some(strategy) = kind
                    .as_ref()
                    .and_then(TypeRef::strategy)
                    .filter(|strategy| strategy.merges())
                {
                    if take_list_directive(items)? == Directive::Delete {
                        return Ok(false);
                    }
                    let element_kind = kind.as_ref().and_then(TypeRef::elements);
                    *items = merge_list(self, std::mem::take(items), None, true, strategy, element_kind)?;
                }
            }
            _ => {}
        }
        Ok(true)
    }
}

fn below(name: &str, problem: &str) -> String {
    match problem.strip_prefix("in ") {
        Some(rest) => format!("in {name}.{rest}"),
        None => format!("in {name}: {problem}"),
    }
}

/// Puts what was merged under its key.
fn put(fields: &mut Mapping, mut key: Node, name: &str, merged: Merged) -> Outcome<()> {
    match merged {
        Merged::Target => {}
        Merged::Nothing => {
            fields.remove(name);
        }
        Merged::Patch(node) if tree::is_null(&node) => {
            fields.remove(name);
        }
        Merged::Patch(mut node) => match fields.get_mut(name) {
            Some(field) => {
                tree::set_style(&mut node, field.style);
                node.presentation = field.presentation.take();
                *field = node;
            }
            None => {
                key.tag = None;
                tree::quote_ambiguous(&mut node);
                fields.push(key, node);
            }
        },
    }
    Ok(())
}

/// Takes the directive out of a list: an element with nothing but `$patch`.
pub(super) fn take_list_directive(items: &mut Vec<Node>) -> Outcome<Directive> {
    let found = items.iter().find_map(|item| {
        item.as_mapping()
            .filter(|mapping| mapping.contains_key(DIRECTIVE))
    });
    let Some(mapping) = found.filter(|mapping| mapping.len() == 1) else {
        return Ok(Directive::Merge);
    };
    let text = mapping.get(DIRECTIVE).map_or("", tree::text_of).to_owned();
    let directive = parse_directive(&text)?;
    items.retain(|item| {
        if tree::is_null_or_empty_mapping(item) {
            return false;
        }
        item.as_mapping().is_none_or(|mapping| {
            mapping
                .get(DIRECTIVE)
                .is_none_or(|node| tree::text_of(node) != text)
        })
    });
    Ok(directive)
}
