//! ConfigMap and Secret generators, and replacements.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{KINDS, Tape};

impl Tape<'_> {
    pub(super) fn generator(&mut self, field: &str, allow_merge: bool) -> String {
        let mut name = self.name();
        let mut behavior = "create";
        if allow_merge && !self.generated.is_empty() && self.chance(2) {
            let place = self.next(self.generated.len());
            name = self.generated[place];
            behavior = self.pick(&["merge", "replace"]);
        }
        self.generated.push(name);
        let mut text = format!("{field}:\n- name: {name}\n  behavior: {behavior}\n");
        text.push_str("  literals:\n");
        let mut keys = BTreeMap::new();
        for _ in 0..=self.next(3) {
            keys.insert(
                self.pick(&["a", "b", "c.d", "E"]),
                self.pick(&["1", "x=y", "\"q\"", "true", "", "é<&>", "'s'"]),
            );
        }
        for (key, value) in keys {
            let _ = writeln!(text, "  - '{key}={}'", value.replace('\'', "''"));
        }
        if self.chance(4) {
            text.push_str(self.pick(&[
                "  files: [file.txt]\n  envs: [file.env]\n",
                "  files: [renamed.key=file.txt]\n",
                "  env: file.env\n",
                "  files: [file.txt, other=file.env]\n",
                "  files: [missing.txt]\n",
                "  envs: [file.env, file.env]\n",
            ]));
        }
        if self.chance(3) {
            let _ = writeln!(
                text,
                "  options: {{disableNameSuffixHash: {}, labels: {{g: \"1\"}}, annotations: {{h: x}}, immutable: {}}}",
                self.chance(2),
                self.chance(2)
            );
        }
        text
    }

    pub(super) fn replacement(&mut self) -> String {
        let kinds = ["ConfigMap", "Custom", "Deployment", "Service"];
        let (kind, source) = self.known(&kinds);
        let path = match kind {
            "ConfigMap" => self.pick(&["metadata.name", "data.app", "data", "metadata.labels.l"]),
            "Custom" => self.pick(&[
                "spec.items.[name=a].v",
                "spec.items",
                "metadata.name",
                "spec.text",
            ]),
            "Service" => self.pick(&[
                "spec.ports.0.port",
                "metadata.name",
                "spec.selector",
                "metadata.labels.l",
                "spec.ports.0.targetPort",
            ]),
            _ => self.pick(&[
                "metadata.name",
                "spec.template.spec.containers.0.image",
                "metadata.annotations",
            ]),
        };
        let (target, _) = self.known(&KINDS);
        let field = self.pick(&[
            "metadata.annotations.r",
            "spec.template.spec.containers.[name=a].image",
            "metadata.labels.[app]",
            "data.copied",
            "spec.items.*.v",
            "spec.text.a",
            "spec.json.a.b",
            "spec.new.list.0",
            "spec.new.[name=x].value",
            "spec.template.spec.containers.*.image",
            "spec.template.spec.containers.[name=.*].env.[name=A].value",
            "metadata.labels.example\\.com/part",
            "spec.text.b.1",
            "metadata.name",
            "spec.rules.0.host",
            "spec.missing",
            "spec.replicas",
        ]);
        let options = match self.next(6) {
            0 | 4 | 5 => "\n    options: {create: true}".to_owned(),
            1 => format!(
                "\n    options: {{delimiter: \"-\", index: {}, create: true}}",
                self.pick(&["0", "1", "-1", "9"])
            ),
            _ => String::new(),
        };
        let field = field.replace('\\', "\\\\");
        let reject = match self.next(8) {
            1 => format!("\n    reject: [{{name: {}}}]", self.name()),
            2 => "\n    reject: [{labelSelector: app=plain}]".to_owned(),
            _ => String::new(),
        };
        let from = match self.next(8) {
            choice if choice == 1 || !self.has(&kinds) => format!(
                "sourceValue: {}",
                self.pick(&["plain", "\"80\"", "'1e3'", "\"\"", "\"true\""])
            ),
            2 => format!(
                "source: {{kind: {kind}, name: {source}, fieldPath: \"{path}\", options: {{delimiter: \"{}\", index: {}}}}}",
                self.pick(&["-", ":", ".", "/"]),
                self.next(3)
            ),
            _ => format!("source: {{kind: {kind}, name: {source}, fieldPath: \"{path}\"}}"),
        };
        let select = match self.next(6) {
            1 => format!("{{name: {}}}", self.name()),
            2 => "{kind: \".*\", labelSelector: \"app in (plain)\"}".to_owned(),
            3 => format!("{{kind: {target}, annotationSelector: app}}"),
            _ => format!("{{kind: {target}}}"),
        };
        format!(
            "- {from}\n  targets:\n  - select: {select}\n    fieldPaths: [\"{field}\"]{reject}{options}\n"
        )
    }
}
