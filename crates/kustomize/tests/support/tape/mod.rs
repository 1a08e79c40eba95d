//! Kustomizations made from a tape of bytes: each choice takes one byte, an empty tape always chooses the
//! first. Shrinking the tape shrinks the kustomization.

mod fields;
mod generators;
mod odd;
mod patches;
mod plugins;

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
    /// Files that the kustomization being made refers to.
    extra: Files,
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
            extra: Files::new(),
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

    /// Whether the base has an object of one of the kinds.
    fn has(&self, kinds: &[&str]) -> bool {
        self.objects.iter().any(|(kind, _)| kinds.contains(kind))
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
        self.rare_fields(&mut text, overlay);
        text
    }

    /// Adds a kustomization with what it refers to.
    fn finish(&mut self, files: &mut Files, directory: &str, kustomization: &str) {
        for (path, contents) in std::mem::take(&mut self.extra) {
            files.insert(format!("{directory}/{path}"), contents);
        }
        add(files, directory, kustomization);
    }

    /// A base, perhaps a component, and overlays; the root is the last overlay, `o<n>`.
    pub(crate) fn files(&mut self) -> (Files, String) {
        let mut files = Files::new();
        let mut objects = BTreeMap::new();
        for _ in 0..=self.next(6) {
            let kind = self.pick(&KINDS);
            let name = self.name();
            let (kind, object) = match self.next(9) {
                7 => ("Odd", self.odd_object(name)),
                8 => ("Cluster", self.cluster_object(name)),
                _ => (kind, self.object(kind, name)),
            };
            objects.entry((kind, name)).or_insert(object);
        }
        self.objects = objects.keys().copied().collect();
        let text: Vec<String> = objects.into_values().collect();
        files.insert("base/all.yaml".to_owned(), text.join("---\n"));
        let operations = self.operations(false);
        self.finish(
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
                self.finish(
                    &mut files,
                    &component,
                    &format!("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n{operations}"),
                );
                let _ = writeln!(kustomization, "components: [../{component}]");
            }
            kustomization.push_str(&self.operations(true));
            self.finish(&mut files, &directory, &kustomization);
            root = directory;
        }
        (files, root)
    }
}

/// The text with four spaces before each line.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn add(files: &mut Files, directory: &str, kustomization: &str) {
    files.insert(
        format!("{directory}/kustomization.yaml"),
        kustomization.to_owned(),
    );
    files.insert(format!("{directory}/file.txt"), "some\ntext: 1\n".to_owned());
    files.insert(
        format!("{directory}/file.env"),
        "# c\nFOO=bar\nBAZ\n EMPTY=\n#x\nQUOTED=\"a b\"\n".to_owned(),
    );
}
