//! Kustomizations made from a tape of bytes: each choice takes one byte, an empty tape always chooses the
//! first. Shrinking the tape shrinks the kustomization.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Files by path.
pub(crate) type Files = BTreeMap<String, String>;

pub(crate) struct Tape<'a> {
    bytes: std::slice::Iter<'a, u8>,
    /// Kinds and names of the objects in the base.
    objects: Vec<(&'static str, &'static str)>,
    /// Names that generators have used.
    generated: Vec<&'static str>,
}

const NAMES: [&str; 6] = ["web", "db", "cache", "api-v1", "job", "x.y"];
const KEYS: [&str; 8] = [
    "app",
    "tier",
    "example.com/part",
    "on",
    "k8s",
    "a.b",
    "\"12\"",
    "env",
];
const LABEL_KEYS: [&str; 6] = ["app", "tier", "example.com/part", "k8s", "a.b", "env"];
const VALUES: [&str; 24] = [
    "plain",
    "\"true\"",
    "true",
    "\"123\"",
    "123",
    "\"0123\"",
    "'1e3'",
    "1.0",
    "\"yes\"",
    "yes",
    "\"null\"",
    "~",
    "\"\"",
    "'a: b'",
    "\"multi\\nline\\n\"",
    "\" spaced \"",
    "\"#c\"",
    "\"é ü\"",
    "2001-01-01",
    "\"$(A)\"",
    "\"- x\"",
    "0x1F",
    "'it''s'",
    "\"tab\\there\"",
];
const STRINGS: [&str; 10] = [
    "plain", "\"true\"", "\"123\"", "'1e3'", "\"yes\"", "\"\"", "'a: b'", "\"x y\"", "\"0123\"", "\"é\"",
];
const KINDS: [&str; 15] = [
    "Deployment",
    "Service",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "RoleBinding",
    "StatefulSet",
    "CronJob",
    "Ingress",
    "Namespace",
    "ClusterRole",
    "HorizontalPodAutoscaler",
    "Custom",
    "ClusterRoleBinding",
    "Job",
];

impl<'a> Tape<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: bytes.iter(),
            objects: Vec::new(),
            generated: Vec::new(),
        }
    }

    fn next(&mut self, count: usize) -> usize {
        self.bytes.next().map_or(0, |byte| usize::from(*byte) % count)
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.next(one_in) == 1
    }

    fn pick<'c>(&mut self, list: &[&'c str]) -> &'c str {
        list[self.next(list.len())]
    }

    fn name(&mut self) -> &'static str {
        self.pick(&NAMES)
    }

    /// An object of the base, mostly one of the wanted kinds, and at times one that is not there.
    fn known(&mut self, kinds: &[&'static str]) -> (&'static str, &'static str) {
        let fitting: Vec<_> = self
            .objects
            .iter()
            .copied()
            .filter(|(kind, _)| kinds.contains(kind))
            .collect();
        if fitting.is_empty() || self.chance(12) {
            return (self.pick(kinds), self.name());
        }
        fitting[self.next(fitting.len())]
    }

    fn map(&mut self, indent: &str, values: &[&'static str]) -> String {
        let keys: &[&str] = if indent.len() < 4 || self.chance(40) {
            &KEYS
        } else {
            &LABEL_KEYS
        };
        self.map_of(indent, keys, values)
    }

    fn map_of(&mut self, indent: &str, keys: &[&'static str], values: &[&'static str]) -> String {
        let mut out = BTreeMap::new();
        for _ in 0..=self.next(3) {
            out.insert(self.pick(keys), self.pick(values));
        }
        out.iter().fold(String::new(), |mut text, (key, value)| {
            let _ = writeln!(text, "{indent}{key}: {value}");
            text
        })
    }

    fn metadata(&mut self, kind: &str, name: &str) -> String {
        let mut text = format!("metadata:\n  name: {name}\n");
        if kind != "Namespace" && self.chance(5) {
            let _ = writeln!(text, "  namespace: {}", self.pick(&["default", "one", "two"]));
        }
        if self.chance(2) {
            let _ = write!(text, "  labels:\n{}", self.map("    ", &STRINGS));
        }
        if self.chance(3) {
            let _ = write!(text, "  annotations:\n{}", self.map("    ", &VALUES));
        }
        if self.chance(12) {
            text.push_str("  annotations2: {}\n  finalizers: [a, b]\n");
        }
        text
    }

    fn container(&mut self, indent: &str, name: &str) -> String {
        let image = self.pick(&[
            "nginx",
            "nginx:1.0",
            "reg.local:5000/a/app:v1",
            "busybox@sha256:abc",
            "app",
        ]);
        let mut text = format!("{indent}- name: {name}\n{indent}  image: {image}\n");
        if self.chance(2) {
            let _ = writeln!(text, "{indent}  env:");
            for _ in 0..=self.next(2) {
                let variable = self.pick(&["A", "B", "C"]);
                let entry = match self.next(4) {
                    0 => format!("value: {}", self.pick(&STRINGS)),
                    1 => format!(
                        "valueFrom:\n{indent}      configMapKeyRef:\n{indent}        name: {}\n{indent}        key: k",
                        self.name()
                    ),
                    2 => format!(
                        "valueFrom:\n{indent}      secretKeyRef:\n{indent}        name: {}\n{indent}        key: k",
                        self.name()
                    ),
                    _ => "value: \"$(A)\"".to_owned(),
                };
                let _ = writeln!(text, "{indent}  - name: {variable}\n{indent}    {entry}");
            }
        }
        if self.chance(2) {
            let _ = writeln!(text, "{indent}  ports:");
            for _ in 0..=self.next(3) {
                let port = self.pick(&["80", "53", "443"]);
                let _ = writeln!(text, "{indent}  - containerPort: {port}");
                match self.next(4) {
                    1 => text.push_str(&format!("{indent}    protocol: UDP\n")),
                    2 => text.push_str(&format!("{indent}    protocol: TCP\n")),
                    3 => text.push_str(&format!("{indent}    name: p{port}\n")),
                    _ => {}
                }
            }
        }
        if self.chance(4) {
            let _ = writeln!(text, "{indent}  args: [a, \"b\", 'true']");
        }
        if self.chance(4) {
            let _ = writeln!(
                text,
                "{indent}  volumeMounts:\n{indent}  - name: v\n{indent}    mountPath: /{}",
                self.name()
            );
        }
        if self.chance(6) {
            let _ = writeln!(text, "{indent}  resources: {{limits: {{cpu: 1, memory: 1Gi}}}}");
        }
        text
    }

    fn pod(&mut self, indent: &str) -> String {
        let mut text = format!("{indent}containers:\n");
        for name in ["a", "b"].iter().take(1 + self.next(2)) {
            text.push_str(&self.container(indent, name));
        }
        if self.chance(5) {
            let _ = write!(text, "{indent}initContainers:\n{}", self.container(indent, "i"));
        }
        if self.chance(3) {
            let _ = writeln!(text, "{indent}serviceAccountName: {}", self.name());
        }
        if self.chance(3) {
            let _ = writeln!(text, "{indent}volumes:\n{indent}- name: v");
            let source = match self.next(3) {
                0 => format!("configMap: {{name: {}}}", self.name()),
                1 => format!("secret: {{secretName: {}}}", self.name()),
                _ => "emptyDir: {}".to_owned(),
            };
            let _ = writeln!(text, "{indent}  {source}");
        }
        if self.chance(8) {
            let _ = writeln!(
                text,
                "{indent}nodeSelector: {{disk: ssd}}\n{indent}tolerations: null"
            );
        }
        text
    }

    fn template(&mut self, indent: &str) -> String {
        let inner = format!("{indent}    ");
        let labels = if self.chance(2) {
            format!(
                "{indent}  metadata:\n{indent}    labels:\n{}",
                self.map(&format!("{indent}      "), &STRINGS)
            )
        } else {
            String::new()
        };
        format!("{indent}template:\n{labels}{indent}  spec:\n{}", self.pod(&inner))
    }

    fn object(&mut self, kind: &str, name: &str) -> String {
        let metadata = self.metadata(kind, name);
        match kind {
            "Deployment" | "StatefulSet" => {
                let mut text = format!("apiVersion: apps/v1\nkind: {kind}\n{metadata}spec:\n");
                if self.chance(2) {
                    let _ = writeln!(text, "  replicas: {}", self.pick(&["1", "2", "\"3\"", "null"]));
                }
                if self.chance(2) {
                    text.push_str("  selector:\n    matchLabels:\n      app: plain\n");
                }
                if kind == "StatefulSet" {
                    let _ = writeln!(text, "  serviceName: {}", self.name());
                }
                text + &self.template("  ")
            }
            "Job" => format!(
                "apiVersion: batch/v1\nkind: Job\n{metadata}spec:\n{}",
                self.template("  ")
            ),
            "CronJob" => format!(
                "apiVersion: batch/v1\nkind: CronJob\n{metadata}spec:\n  schedule: \"* * * * *\"\n  jobTemplate:\n    spec:\n{}",
                self.template("      ")
            ),
            "Service" => format!(
                "apiVersion: v1\nkind: Service\n{metadata}spec:\n  selector:\n    app: plain\n  ports:\n  - port: 80\n    targetPort: {}\n",
                self.pick(&["80", "http", "\"80\""])
            ),
            "ConfigMap" => format!(
                "apiVersion: v1\nkind: ConfigMap\n{metadata}data:\n{}",
                self.map("  ", &VALUES)
            ),
            "Secret" => format!(
                "apiVersion: v1\nkind: Secret\n{metadata}type: Opaque\nstringData:\n{}",
                self.map("  ", &STRINGS)
            ),
            "ServiceAccount" => format!("apiVersion: v1\nkind: ServiceAccount\n{metadata}"),
            "Namespace" => format!("apiVersion: v1\nkind: Namespace\n{metadata}"),
            "ClusterRole" => {
                format!("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n{metadata}rules: []\n")
            }
            "RoleBinding" | "ClusterRoleBinding" => {
                let subject = self.pick(&["default", "web", "db"]);
                let namespace = self.pick(&["", "    namespace: one\n", "    namespace: default\n"]);
                format!(
                    "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\n{metadata}roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: {}\nsubjects:\n  - kind: ServiceAccount\n    name: {subject}\n{namespace}",
                    self.name()
                )
            }
            "Ingress" => format!(
                "apiVersion: networking.k8s.io/v1\nkind: Ingress\n{metadata}spec:\n  tls:\n  - secretName: {}\n  rules:\n  - host: h\n    http:\n      paths:\n      - path: /\n        backend: {{service: {{name: {}, port: {{number: 80}}}}}}\n",
                self.name(),
                self.name()
            ),
            "HorizontalPodAutoscaler" => format!(
                "apiVersion: autoscaling/v2\nkind: {kind}\n{metadata}spec:\n  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {}}}\n",
                self.name()
            ),
            _ => format!(
                "apiVersion: example.com/v1\nkind: Custom\n{metadata}spec:\n  items: [{{name: a, v: 1}}, {{name: b}}]\n  nothing: null\n  empty: {{}}\n  text: |\n    a: 1\n    b: [x, y]\n  json: '{{\"a\": {{\"b\": 1}}}}'\n{}",
                self.map("  ", &VALUES)
            ),
        }
    }

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
            _ => "metadata2: {a: null, b: x}\n".to_owned(),
        }
    }

    fn api_version(kind: &str) -> &'static str {
        match kind {
            "Deployment" | "StatefulSet" => "apps/v1",
            "Job" | "CronJob" => "batch/v1",
            "Custom" => "example.com/v1",
            "Ingress" => "networking.k8s.io/v1",
            "HorizontalPodAutoscaler" => "autoscaling/v2",
            "ClusterRole" | "RoleBinding" | "ClusterRoleBinding" => "rbac.authorization.k8s.io/v1",
            _ => "v1",
        }
    }

    fn patch(&mut self) -> String {
        let (kind, name) = self.known(&["Deployment", "ConfigMap", "Custom", "StatefulSet", "Service"]);
        let indent = |text: &str| {
            text.lines()
                .map(|line| format!("    {line}\n"))
                .collect::<String>()
        };
        let target = match self.next(5) {
            0 | 1 => String::new(),
            2 => format!("  target: {{kind: {kind}}}\n"),
            3 => format!(
                "  target: {{kind: {kind}, name: \"{}\"}}\n",
                self.pick(&["w.*", "web|db", ".*-web", "nothing"])
            ),
            _ => "  target: {labelSelector: app=plain}\n".to_owned(),
        };
        if !target.is_empty() && self.chance(2) {
            let operation = self.pick(&[
                "{op: add, path: /metadata/labels/j, value: x}",
                "{op: replace, path: /metadata/name, value: other}",
                "{op: add, path: /metadata/annotations/j, value: \"1\"}",
                "{op: remove, path: /spec/replicas}",
                "{op: add, path: /data2, value: {a: [1, \"2\", 3.0, true, null]}}",
                "{op: add, path: /metadata/annotations, value: {k: v}}",
            ]);
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
        format!("- patch: |-\n{}{target}", indent(&body))
    }

    fn generator(&mut self, field: &str, allow_merge: bool) -> String {
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
            text.push_str("  files: [file.txt]\n  envs: [file.env]\n");
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

    fn replacement(&mut self) -> String {
        let (kind, source) = self.known(&["ConfigMap", "Custom", "Deployment", "Service"]);
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
            "spec.replicas",
        ]);
        let options = match self.next(4) {
            0 => "\n    options: {create: true}".to_owned(),
            1 => format!(
                "\n    options: {{delimiter: \"-\", index: {}, create: true}}",
                self.pick(&["0", "1", "-1", "9"])
            ),
            _ => String::new(),
        };
        format!(
            "- source: {{kind: {kind}, name: {source}, fieldPath: \"{path}\"}}\n  targets:\n  - select: {{kind: {target}}}\n    fieldPaths: [\"{field}\"]{options}\n"
        )
    }

    /// The transforming part of a kustomization.
    fn operations(&mut self, overlay: bool) -> String {
        let mut text = String::new();
        if self.chance(3) {
            let _ = writeln!(text, "namePrefix: {}", self.pick(&["p-", "\"1-\"", "x"]));
        }
        if self.chance(4) {
            let _ = writeln!(text, "nameSuffix: {}", self.pick(&["-s", "-v2"]));
        }
        if self.chance(3) {
            let _ = writeln!(
                text,
                "namespace: {}",
                self.pick(&["one", "two", "\"123\"", "default"])
            );
        }
        if self.chance(4) {
            let _ = write!(
                text,
                "commonLabels:\n{}",
                self.map_of("  ", &LABEL_KEYS, &STRINGS)
            );
        }
        if self.chance(4) {
            let _ = write!(
                text,
                "commonAnnotations:\n{}",
                self.map_of("  ", &LABEL_KEYS, &STRINGS)
            );
        }
        if self.chance(4) {
            let _ = writeln!(
                text,
                "labels:\n- pairs: {{l: {}}}\n  includeSelectors: {}\n  includeTemplates: {}",
                self.pick(&STRINGS),
                self.chance(2),
                self.chance(2)
            );
        }
        if self.chance(3) {
            let _ = writeln!(
                text,
                "images:\n- name: {}\n  {}",
                self.pick(&["nginx", "app", "reg.local:5000/a/app", "busybox"]),
                self.pick(&[
                    "newTag: v2",
                    "newName: other",
                    "digest: sha256:ff",
                    "tagSuffix: -x",
                    "newTag: \"1.0\""
                ])
            );
        }
        if self
            .objects
            .iter()
            .any(|(kind, _)| matches!(*kind, "Deployment" | "StatefulSet"))
            && self.chance(5)
        {
            let (_, name) = self.known(&["Deployment", "StatefulSet"]);
            let _ = writeln!(text, "replicas:\n- name: {name}\n  count: {}", self.next(5));
        }
        if self.chance(3) {
            text.push_str(&self.generator("configMapGenerator", overlay));
        }
        if self.chance(4) {
            text.push_str(&self.generator("secretGenerator", overlay));
        }
        if self.chance(2) {
            text.push_str("patches:\n");
            for _ in 0..=self.next(2) {
                text.push_str(&self.patch());
            }
        }
        if self.chance(4) {
            let _ = write!(
                text,
                "replacements:\n{}{}",
                self.replacement(),
                self.replacement()
            );
        }
        if self.chance(10) {
            let _ = writeln!(
                text,
                "generatorOptions: {{disableNameSuffixHash: {}, labels: {{all: x}}}}",
                self.chance(2)
            );
        }
        if self.chance(10) {
            let _ = writeln!(
                text,
                "buildMetadata: [{}]",
                self.pick(&["originAnnotations", "transformerAnnotations", "managedByLabel"])
            );
        }
        if overlay && self.chance(10) {
            let _ = writeln!(text, "sortOptions: {{order: {}}}", self.pick(&["fifo", "legacy"]));
        }
        text
    }

    /// A base, perhaps a component, and overlays; the root is the last overlay, `o<n>`.
    pub(crate) fn files(&mut self) -> (Files, String) {
        let mut files = Files::new();
        let mut objects = BTreeMap::new();
        for _ in 0..=self.next(6) {
            let kind = self.pick(&KINDS);
            let name = self.name();
            let object = self.object(kind, name);
            objects.entry((kind, name)).or_insert(object);
        }
        self.objects = objects.keys().copied().collect();
        let text: Vec<String> = objects.into_values().collect();
        files.insert("base/all.yaml".to_owned(), text.join("---\n"));
        let operations = self.operations(false);
        add(
            &mut files,
            "base",
            &format!("resources: [all.yaml]\n{operations}"),
        );
        let mut root = "base".to_owned();
        for level in 0..self.next(3) {
            let directory = format!("o{level}");
            let mut kustomization = format!("resources: [../{root}]\n");
            if self.chance(4) {
                let component = format!("c{level}");
                let operations = self.operations(true).replace("sortOptions", "# sortOptions");
                add(
                    &mut files,
                    &component,
                    &format!("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n{operations}"),
                );
                let _ = writeln!(kustomization, "components: [../{component}]");
            }
            kustomization.push_str(&self.operations(true));
            add(&mut files, &directory, &kustomization);
            root = directory;
        }
        (files, root)
    }
}

fn add(files: &mut Files, directory: &str, kustomization: &str) {
    files.insert(
        format!("{directory}/kustomization.yaml"),
        kustomization.to_owned(),
    );
    files.insert(format!("{directory}/file.txt"), "some\ntext: 1\n".to_owned());
    files.insert(format!("{directory}/file.env"), "# c\nFOO=bar\nBAZ\n".to_owned());
}
