//! A tree of objects, and how it is drawn.

use std::fmt;

use serde_json::{Value, json};
use sluice_apply::ObjectId;

/// An object and those below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Branch {
    pub(super) id: ObjectId,
    below: Vec<Branch>,
}

impl Branch {
    /// An object with nothing below it.
    pub(super) fn new(id: ObjectId) -> Self {
        Self {
            id,
            below: Vec::new(),
        }
    }

    /// Adds an object below this one.
    pub(super) fn add(&mut self, id: ObjectId) -> &mut Branch {
        self.below.push(Self::new(id));
        let last = self.below.len() - 1;
        &mut self.below[last]
    }

    /// The tree as data, in the form that `flux` gives it.
    pub(super) fn to_value(&self) -> Value {
        let ObjectId {
            namespace,
            name,
            group,
            kind,
        } = &self.id;
        let mut value = json!({"resource": {
            "Namespace": namespace, "Name": name, "GroupKind": {"Group": group, "Kind": kind},
        }});
        if !self.below.is_empty() {
            value["resources"] = self.below.iter().map(Self::to_value).collect();
        }
        value
    }

    fn draw(&self, margin: &str, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, branch) in self.below.iter().enumerate() {
            let is_last = number + 1 == self.below.len();
            let (joint, margin_below) = if is_last {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            writeln!(formatter, "{margin}{joint}{}", branch.id.subject())?;
            branch.draw(&format!("{margin}{margin_below}"), formatter)?;
        }
        Ok(())
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.id.subject())?;
        self.draw("", formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: &str, name: &str) -> ObjectId {
        ObjectId {
            namespace: "apps".into(),
            name: name.into(),
            group: String::new(),
            kind: kind.into(),
        }
    }

    #[test]
    fn margins_show_whose_the_objects_are() {
        let mut root = Branch::new(id("Kustomization", "root"));
        let middle = root.add(id("Kustomization", "middle"));
        middle.add(id("ConfigMap", "a")).add(id("ConfigMap", "b"));
        root.add(id("ConfigMap", "last")).add(id("ConfigMap", "c"));
        insta::assert_snapshot!(root, @r"
        Kustomization/apps/root
        ├── Kustomization/apps/middle
        │   └── ConfigMap/apps/a
        │       └── ConfigMap/apps/b
        └── ConfigMap/apps/last
            └── ConfigMap/apps/c
        ");
    }
}
