//! Objects with odd scalars, styles, comments and anchors, and objects of the cluster that namespaces and names
//! reach into.

use std::fmt::Write as _;

use super::Tape;

/// Scalars that readers and writers like to get wrong.
const SCALARS: [&str; 44] = [
    "0o17",
    "0777",
    "08",
    "1_000",
    "0b11",
    "0xFF",
    "-0",
    "+1",
    "1.",
    ".5",
    "1e3",
    "1E+3",
    "-1e-3",
    ".inf",
    "-.INF",
    ".nan",
    "~",
    "null",
    "Null",
    "yes",
    "No",
    "on",
    "y",
    "TRUE",
    "False",
    "2001-01-01",
    "2001-01-01T10:00:00Z",
    "12:30:45",
    "1:20",
    "=",
    "<<",
    "!!str 1",
    "!!int \"3\"",
    "!!float 1",
    "!!binary aGk=",
    "9223372036854775808",
    "18446744073709551616",
    "1.0",
    "100.10",
    "'it''s'",
    "\"a\\u00e9\\x41\\n\"",
    "\"\\u263a\"",
    "@x",
    "x: y",
];
/// Values of more than a word, at two spaces.
const BLOCKS: [&str; 14] = [
    "|\n    line\n    # no comment\n\n    last\n",
    "|-\n    a\n     b\n",
    "|+\n    a\n\n\n",
    ">\n    folded\n    text\n\n    new\n      more\n",
    ">-\n    a\n    b\n",
    "|2\n     indented\n",
    "\"a long text that goes on and on and on until it is longer than eighty characters, and then some more words follow\"\n",
    "plain text\n    over lines\n",
    "'quoted\n    over lines'\n",
    "[a, {b: c}, [d], \"e\"] # comment\n",
    "{a: 1, \"b\": 'x', ? c : d}\n",
    "\"tab\\tand \\\\ and \\\"quote\\\"\"\n",
    "|\n    trailing \n    tab\t\n",
    "\"\"\n",
];

impl Tape<'_> {
    /// A ConfigMap or a custom object full of oddities.
    pub(super) fn odd_object(&mut self, name: &str) -> String {
        let custom = self.chance(2);
        let mut text = String::new();
        if self.chance(3) {
            text.push_str("# before\n");
        }
        text.push_str(if custom {
            "apiVersion: example.com/v1 # version\nkind: Odd\n"
        } else {
            "apiVersion: v1\nkind: ConfigMap\n"
        });
        let _ = writeln!(text, "metadata:\n  name: {name}");
        if self.chance(4) {
            let _ = writeln!(text, "  annotations:\n    a: {}", self.pick(&SCALARS));
        }
        if !text.contains("annotations") && self.chance(8) {
            text.push_str("  annotations: {config.kubernetes.io/local-config: \"true\"}\n");
        }
        text.push_str(if custom { "spec:\n" } else { "data:\n" });
        for index in 0..=self.next(4) {
            if custom || self.chance(3) {
                let _ = writeln!(text, "  k{index}: {}", self.pick(&SCALARS));
            } else {
                let _ = write!(text, "  k{index}: {}", self.pick(&BLOCKS));
            }
        }
        if self.chance(3) {
            let _ = write!(text, "  block: {}", self.pick(&BLOCKS));
        }
        if custom && self.chance(3) {
            text.push_str("  anchored: &a {x: 1, y: [2]}\n  again: *a\n");
            if self.chance(2) {
                text.push_str("  merged: {<<: *a, z: 3}\n");
            }
        }
        if custom && self.chance(4) {
            let _ = writeln!(text, "  list:\n  - {}\n  -\n    - nested", self.pick(&SCALARS));
        }
        if self.chance(10) {
            text = text.replace('\n', "\r\n");
        }
        text
    }

    /// An object whose references to namespaces, services and others kustomize knows.
    pub(super) fn cluster_object(&mut self, name: &str) -> String {
        let service = self.name();
        let namespace = self.pick(&["default", "one", "two"]);
        match self.next(9) {
            0 => format!(
                "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {{name: {name}}}\nwebhooks:\n- name: w.x\n  clientConfig: {{service: {{name: {service}, namespace: {namespace}}}}}\n- name: v.x\n  clientConfig: {{url: u}}\n"
            ),
            1 => format!(
                "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {{name: {name}}}\nspec: {{service: {{name: {service}, namespace: {namespace}}}, group: g}}\n"
            ),
            2 => format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}}}\nspec:\n  group: example.com\n  conversion:\n    webhook: {{clientConfig: {{service: {{name: {service}, namespace: {namespace}}}}}}}\n"
            ),
            3 => format!(
                "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\nspec: {{volumeName: {service}, storageClassName: fast}}\n"
            ),
            4 => format!(
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: {name}, namespace: {namespace}}}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {service}}}\nsubjects:\n- {{kind: ServiceAccount, name: {service}, namespace: {namespace}}}\n- {{kind: User, name: u}}\n- {{kind: ServiceAccount, name: default}}\n"
            ),
            5 => format!(
                "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: {name}}}\nspec:\n  podSelector: {{matchLabels: {{app: plain}}}}\n  ingress:\n  - from:\n    - podSelector: {{matchLabels: {{x: y}}}}\n"
            ),
            6 => format!(
                "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: {name}}}\nspec: {{selector: {{matchLabels: {{app: plain}}}}, minAvailable: 1}}\n"
            ),
            7 => format!(
                "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ServiceAccount\n  metadata: {{name: {name}}}\n  imagePullSecrets: [{{name: {service}}}]\n"
            ),
            _ => format!(
                "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - name: a\n    image: nginx:1\n    envFrom: [{{configMapRef: {{name: {service}}}}}, {{secretRef: {{name: {service}}}}}]\n"
            ),
        }
    }
}
