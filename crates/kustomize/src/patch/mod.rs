//! Patches: strategic merge and JSON 6902.

mod json;
mod lists;
mod strategic;

pub(crate) use json::JsonPatch;

use sluice_goyaml::Node;

use crate::error::{Error, ErrorKind, Result};
use crate::resource::Resource;
use crate::schema::Schema;
use crate::tree;

/// Applies a strategic merge patch; name and kind stay unless the patch may change them, the namespace
/// stays.
pub(crate) fn apply_strategic(target: &mut Resource, patch: Resource, schema: &Schema) -> Result<()> {
    let (name, namespace, kind) = (
        target.name().to_owned(),
        target.namespace().to_owned(),
        target.kind().to_owned(),
    );
    let (allow_name_change, allow_kind_change) =
        (patch.state.allow_name_change, patch.state.allow_kind_change);
    if allow_name_change || allow_kind_change {
        target.store_previous_id(schema);
    }
    let wide = touches_annotations_as_a_whole(patch.node());
    let node = patch.into_node();
    let merge = |tree: &mut Node| {
        strategic::apply(tree, node, schema).map_err(|problem| {
            Error::new(
                ErrorKind::Patch,
                format!("the strategic merge patch does not fit: {problem}"),
            )
        })
    };
    let result = if wide {
        target.with_visible_state(merge)
    } else {
        merge(target.node_mut())
    };
    result.map_err(|error| error.while_doing(format!("patching {kind} {name}")))?;
    if target.is_empty() {
        return Ok(());
    }
    target.settle_shares();
    // kustomize notes the options among the patch's annotations, and so the merge brings them into the target.
    target.state.allow_name_change |= allow_name_change;
    target.state.allow_kind_change |= allow_kind_change;
    if !allow_kind_change {
        target.set_kind(&kind)?;
    }
    if !allow_name_change {
        target.set_name(&name)?;
    }
    target.set_namespace(&namespace)
}

/// Whether a patch could remove all annotations, among which kustomize keeps its notes.
fn touches_annotations_as_a_whole(patch: &Node) -> bool {
    let wide = |node: &Node| tree::is_null(node) || node.get(strategic::DIRECTIVE).is_some();
    wide(patch)
        || patch
            .get("metadata")
            .is_some_and(|metadata| wide(metadata) || metadata.get("annotations").is_some_and(wide))
}

/// Applies a JSON 6902 patch; the engine's notes survive whatever it does to the annotations.
pub(crate) fn apply_json(target: &mut Resource, patch: &JsonPatch) -> Result<()> {
    let saved = target.state.clone();
    let label = target.describe();
    let result = target.with_visible_state(|node| {
        patch.apply(node).map_err(|problem| {
            Error::new(
                ErrorKind::Patch,
                format!("the JSON patch does not apply to {label}: {problem}"),
            )
        })
    });
    target.state = saved;
    result?;
    let annotations = target.annotations();
    target.set_string_map("annotations", &annotations)
}
