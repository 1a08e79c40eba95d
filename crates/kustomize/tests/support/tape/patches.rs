//! Patches of all kinds.

use std::fmt::Write as _;

use super::{Tape, VALUES, indented};

impl Tape<'_> {
    fn patch_body(&mut self, kind: &str) -> String {
        match (kind, self.next(9)) {
            ("Deployment" | "StatefulSet", 0..=2) => format!("spec:\n{}", self.template("  ")),
            ("Deployment" | "StatefulSet", 3) => {
                "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        $patch: delete\n      - name: n\n        image: new\n".to_owned()
            }
            ("Deployment" | "StatefulSet", 4) => {
                "spec:\n  template:\n    spec:\n      containers:\n      - $patch: replace\n      - name: only\n        image: one\n".to_owned()
            }
            ("Deployment" | "StatefulSet", 5) => "spec:\n  replicas: null\n  template:\n    spec:\n      volumes: null\n".to_owned(),
            ("ConfigMap", 0..=3) => format!("data:\n{}", self.map("  ", &VALUES)),
            ("ConfigMap", 4) => "data:\n  $patch: replace\n  only: x\n".to_owned(),
            ("Custom", 0..=2) => format!("spec:\n  items:\n  - name: a\n    w: 2\n  empty: null\n{}", self.map("  ", &VALUES)),
            (_, 8) => "$patch: delete\n".to_owned(),
            (_, 7) => self.list_directives(kind),
            _ => "metadata2: {a: null, b: x}\n".to_owned(),
        }
    }

    pub(super) fn patch(&mut self) -> String {
        let kinds = ["Deployment", "ConfigMap", "Custom", "StatefulSet", "Service"];
        let (kind, name) = self.known(&kinds);
        let target = match self.next(5) {
            0 | 1 if self.has(&kinds) => String::new(),
            2 => format!("  target: {{kind: {kind}}}\n"),
            3 => format!(
                "  target: {{kind: {kind}, name: \"{}\"}}\n",
                self.pick(&["w.*", "web|db", ".*-web", "nothing"])
            ),
            _ => "  target: {labelSelector: app=plain}\n".to_owned(),
        };
        if !target.is_empty() && self.chance(2) {
            let mut operation = self.pick(&[
                "{op: add, path: /metadata/labels/j, value: x}",
                "{op: replace, path: /metadata/name, value: other}",
                "{op: add, path: /metadata/annotations/j, value: \"1\"}",
                "{op: remove, path: /spec/replicas}",
                "{op: add, path: /data2, value: {a: [1, \"2\", 3.0, true, null]}}",
                "{op: add, path: /metadata/annotations, value: {k: v}}",
                "{op: replace, path: /spec/template/spec/containers/0/image, value: \"n:1\"}",
                "{op: add, path: /spec/template/spec/containers/-, value: {name: z, image: z}}",
                "{op: remove, path: /spec/template/spec/containers/0}",
                "{op: copy, from: /metadata/name, path: /metadata/annotations/copy}",
                "{op: move, from: /spec, path: /spec2}",
                "{op: test, path: /kind, value: Deployment}",
                "{op: add, path: /metadata/annotations/a~1b~0c, value: \"null\"}",
                "{op: add, path: /spec/number, value: 1e3}",
                "{op: add, path: /spec/big, value: 12345678901234567890}",
                "{op: replace, path: /kind, value: Renamed}",
            ]);
            // Generated objects of another kind have a hash of their own (`docs/parity.md`).
            if operation.contains("Renamed") && (kind == "ConfigMap" || target.contains("labelSelector")) {
                operation = "{op: test, path: /kind, value: Renamed}";
            }
            return format!("- patch: |-\n    - {operation}\n{target}");
        }
        let mut body = format!(
            "apiVersion: {}\nkind: {kind}\nmetadata:\n  name: {name}\n",
            Self::api_version(kind)
        );
        match self.next(5) {
            0 => {
                let _ = write!(
                    body,
                    "  labels:\n{}",
                    self.map("    ", &["plain", "null", "\"x\"", "\"1\""])
                );
            }
            1 => {
                let _ = write!(
                    body,
                    "  annotations:\n{}",
                    self.map("    ", &["plain", "null", "1", "\"1\""])
                );
            }
            2 => body.push_str("  annotations: null\n"),
            _ => {}
        }
        body.push_str(&self.patch_body(kind));
        let options = match self.next(8) {
            1 => "  options: {allowNameChange: true}\n",
            2 => "  options: {allowKindChange: true, allowNameChange: true}\n",
            _ => "",
        };
        if self.chance(6) {
            let path = format!("patch-{}.yaml", self.extra.len());
            self.extra.insert(path.clone(), body);
            return format!("- path: {path}\n{target}{options}");
        }
        format!("- patch: |-\n{}{target}{options}", indented(&body))
    }

    /// Directives within lists and for lists of scalars.
    fn list_directives(&mut self, kind: &str) -> String {
        let inner = self.pick(&[
            "$setElementOrder/containers: [{name: b}, {name: a}]\ncontainers: [{name: b, image: q}]\n",
            "containers:\n- name: a\n  $patch: replace\n  image: r\n",
            "containers:\n- name: a\n  $deleteFromPrimitiveList/args: [a]\n  args: [z]\n",
            "containers:\n- name: a\n  env:\n  - {name: A, $patch: delete}\n  - {name: Z, value: '1'}\n",
            "containers:\n- name: a\n  ports:\n  - {containerPort: 80, name: web}\n  - {containerPort: 53, protocol: UDP, $patch: delete}\n",
            "$retainKeys: [containers]\nvolumes: [{name: v, $retainKeys: [name, secret], secret: {secretName: s}}]\n",
            "volumes:\n- $patch: delete\n  name: v\n",
            "containers:\n- $patch: delete\n",
            "containers: []\nvolumes: null\n",
            "containers:\n- {name: a, image: null}\n- {name: new}\ninitContainers: [{name: i, image: j}]\n",
            "imagePullSecrets: [{name: web}, {name: db}]\ntolerations: [{key: k}]\n",
            "$patch: replace\ncontainers: [{name: only}]\n",
            "containers:\n- name: a\n  $patch: merge\n  command: [\"x\", 'y', z]\n",
            "hostAliases: [{ip: 1.2.3.4, hostnames: [a]}]\ntopologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: DoNotSchedule}]\n",
        ]);
        match kind {
            "Deployment" | "StatefulSet" => {
                let pod: String = inner.lines().map(|line| format!("      {line}\n")).collect();
                format!("spec:\n  template:\n    spec:\n{pod}")
            }
            "Service" => self
                .pick(&[
                    "spec:\n  ports:\n  - {port: 80, name: web}\n  - {port: 443, targetPort: 8443}\n",
                    "spec:\n  ports:\n  - {port: 80, $patch: delete}\n",
                    "spec:\n  selector: {$patch: replace, x: y}\n",
                    "spec: null\n",
                    "metadata:\n  finalizers: [c]\n  $deleteFromPrimitiveList/finalizers: [a]\n",
                ])
                .replace("metadata:\n", "other:\n"),
            _ => "spec: {list: [1, 2], $patch: merge}\n".to_owned(),
        }
    }

    /// The deprecated lists of patches.
    pub(super) fn legacy_patches(&mut self) -> String {
        let mut text = String::new();
        if self.chance(2) {
            let (kind, name) = self.known(&["Deployment", "ConfigMap", "StatefulSet", "Service"]);
            let body = format!(
                "apiVersion: {}\nkind: {kind}\nmetadata:\n  name: {name}\n{}",
                Self::api_version(kind),
                self.patch_body(kind)
            );
            let (second, other) = self.known(&["ConfigMap", "Custom"]);
            let both = format!(
                "{body}---\napiVersion: {}\nkind: {second}\nmetadata: {{name: {other}}}\nadded: {{x: 1}}\n",
                Self::api_version(second)
            );
            if self.chance(2) {
                let _ = write!(text, "patchesStrategicMerge:\n- |-\n{}", indented(&body));
            } else {
                let contents = if self.chance(2) { both } else { body };
                self.extra.insert("strategic.yaml".to_owned(), contents);
                text.push_str("patchesStrategicMerge: [strategic.yaml]\n");
            }
        } else {
            let (kind, name) = self.known(&["Deployment", "ConfigMap", "Custom", "Service"]);
            let version = Self::api_version(kind);
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            let operations = self.pick(&[
                "[{\"op\": \"add\", \"path\": \"/x\", \"value\": {\"a\": 1}}]",
                "- {op: add, path: /metadata/annotations, value: {q: \"1\"}}\n- {op: add, path: /y, value: [1]}",
                "[{\"op\": \"remove\", \"path\": \"/metadata/labels\"}]",
            ]);
            let _ = writeln!(
                text,
                "patchesJson6902:\n- target: {{group: {group:?}, version: {version}, kind: {kind}, name: {name}}}\n  path: six.yaml"
            );
            self.extra.insert("six.yaml".to_owned(), operations.to_owned());
        }
        text
    }
}
