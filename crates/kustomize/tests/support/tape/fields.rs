//! Fields that few kustomizations use.

use std::fmt::Write as _;

use super::Tape;

const SCHEMA: &str = r##"{"definitions": {"com.example.Custom": {"type": "object",
  "properties": {"spec": {"type": "object", "properties": {"items": {"type": "array",
    "items": {"type": "object"}, "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"}}}},
  "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Custom", "version": "v1"}]}}}"##;

const CRD: &str = r##"{"github.com/example.Custom": {"Schema": {"properties": {
  "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
  "spec": {"$ref": "github.com/example.Spec"}}}},
 "github.com/example.Spec": {"Schema": {"properties": {
  "app": {"type": "string", "x-kubernetes-object-ref-api-version": "v1", "x-kubernetes-object-ref-kind": "Secret"},
  "tier": {"type": "string", "x-kubernetes-annotation": ""},
  "items": {"type": "array", "x-kubernetes-label-selector": ""}}}}}"##;

impl Tape<'_> {
    pub(super) fn rare_fields(&mut self, text: &mut String, overlay: bool) {
        if self.has(&["Deployment", "ConfigMap"]) && self.chance(8) {
            text.push_str(&self.legacy_patches());
        }
        if self.chance(10) {
            self.vars(text);
        }
        if self.chance(16) {
            self.extra.insert("schema.json".to_owned(), SCHEMA.to_owned());
            text.push_str("openapi: {path: schema.json}\n");
        }
        if self.chance(16) {
            self.extra.insert("crd.json".to_owned(), CRD.to_owned());
            text.push_str("crds: [crd.json]\n");
        }
        if self.chance(12) {
            self.configurations(text);
        }
        if overlay && !text.contains("sortOptions") && self.chance(16) {
            text.push_str("sortOptions: {order: legacy, legacySortOptions: {orderFirst: [ConfigMap, Custom], orderLast: [Deployment]}}\n");
        }
        if self.chance(10) {
            self.plugin_entries(text);
        }
        if !text.contains("images:") && self.chance(8) {
            let _ = writeln!(
                text,
                "{}:\n- name: {}\n  {}",
                self.pick(&["images", "images", "imageTags"]),
                self.pick(&["nginx", "app", "busybox", "reg.local:5000/a/app", "ngin.", "*"]),
                self.pick(&[
                    "newName: reg:5000/x/y\n  newTag: v1",
                    "newTag: v3\n  digest: sha256:0",
                    "newName: n\n  tagSuffix: -dev",
                    "digest: sha256:aa\n  newName: q",
                    "newTag: \"\"",
                    "newTag: '8'",
                ])
            );
        }
        if !text.contains("replicas:") && self.chance(12) {
            let (_, name) = self.known(&["Deployment", "StatefulSet", "Custom"]);
            let _ = writeln!(text, "replicas:\n- {{name: {name}, count: {}}}", self.next(3));
        }
        if !text.contains("labels:\n-") && self.chance(10) {
            text.push_str("labels:\n- pairs: {l2: v}\n  fields: [{path: spec/extra/labels, create: true}, {path: metadata/labels, create: true, kind: Custom}]\n- pairs: {l3: \"1\"}\n  includeTemplates: true\n");
        }
        if self.chance(20) {
            text.push_str("metadata: {name: ignored, annotations: {a: b}}\n");
        }
    }

    fn vars(&mut self, text: &mut String) {
        let (kind, name) = self.known(&["Service", "ConfigMap", "Deployment", "Custom"]);
        let version = Self::api_version(kind);
        let field = self.pick(&[
            "",
            "  fieldref: {fieldPath: metadata.namespace}\n",
            "  fieldref: {fieldPath: \"spec.ports[0].port\"}\n",
            "  fieldref: {fieldPath: data.app}\n",
            "  fieldref: {fieldPath: spec.replicas}\n",
            "  fieldref: {fieldPath: spec.missing}\n",
        ]);
        let _ = write!(
            text,
            "vars:\n- name: A\n  objref: {{apiVersion: {version}, kind: {kind}, name: {name}}}\n{field}"
        );
    }

    fn configurations(&mut self, text: &mut String) {
        let configuration = self.pick(&[
            "namePrefix:\n- {path: spec/app, kind: Custom}\nnameSuffix:\n- {path: metadata/name}\n",
            "nameReference:\n- kind: ConfigMap\n  version: v1\n  fieldSpecs:\n  - {path: spec/app, kind: Custom}\n",
            "commonLabels:\n- {path: spec/labels, kind: Custom, create: true}\n",
            "commonAnnotations:\n- {path: spec/notes, create: true, kind: Custom}\n",
            "images:\n- {path: \"spec/items[]/image\", kind: Custom}\n",
            "replicas:\n- {path: spec/count, kind: Custom, create: true}\n",
            "varReference:\n- {path: spec/app, kind: Custom}\n- {path: data, kind: ConfigMap}\n",
            "namespace:\n- {path: spec/ns, kind: Custom, create: true}\n",
            "labels:\n- {path: spec/marks, create: true, kind: Custom}\n",
            "namePrefix:\n- {path: metadata/name, kind: Service, group: \"\", skip: true}\n",
        ]);
        self.extra
            .insert("configuration.yaml".to_owned(), configuration.to_owned());
        text.push_str("configurations: [configuration.yaml]\n");
    }
}
