//! Entries that configure built-in plugins.

use std::fmt::Write as _;

use super::{Tape, indented};

const TRANSFORMERS: [&str; 13] = [
    "kind: PrefixTransformer\nmetadata: {name: t}\nprefix: t-\nfieldSpecs: [{path: metadata/name}]\n",
    "kind: PrefixSuffixTransformer\nmetadata: {name: t}\nprefix: a-\nsuffix: -z\nfieldSpecs: [{path: metadata/name, kind: Deployment}]\n",
    "kind: SuffixTransformer\nmetadata: {name: t}\nsuffix: -t\nfieldSpecs: [{path: metadata/name}, {path: spec/app}]\n",
    "kind: LabelTransformer\nmetadata: {name: t}\nlabels: {t: \"1\"}\nfieldSpecs: [{path: metadata/labels, create: true}]\n",
    "kind: AnnotationsTransformer\nmetadata: {name: t}\nannotations: {t: \"true\"}\nfieldSpecs: [{path: metadata/annotations, create: true}, {path: spec/template/metadata/annotations, create: true, kind: Deployment}]\n",
    "kind: NamespaceTransformer\nmetadata: {name: t, namespace: other}\nfieldSpecs: [{path: metadata/namespace, create: true}]\nsetRoleBindingSubjects: allServiceAccounts\n",
    "kind: NamespaceTransformer\nmetadata: {name: t, namespace: other}\nunsetOnly: true\n",
    "kind: ImageTagTransformer\nmetadata: {name: t}\nimageTag: {name: nginx, newTag: t}\nfieldSpecs: [{path: spec/template/spec/containers/image}]\n",
    "kind: ReplicaCountTransformer\nmetadata: {name: t}\nreplica: {name: web, count: 7}\nfieldSpecs: [{path: spec/replicas, create: true, kind: Deployment}]\n",
    "kind: PatchTransformer\nmetadata: {name: t}\npatch: '[{\"op\": \"add\", \"path\": \"/t\", \"value\": 1}]'\ntarget: {kind: ConfigMap}\n",
    "kind: PatchStrategicMergeTransformer\nmetadata: {name: t}\npatches: '{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {t: \"1\"}}'\n",
    "kind: PatchJson6902Transformer\nmetadata: {name: t}\ntarget: {kind: Custom, name: web, group: example.com, version: v1}\njsonOp: '[{\"op\": \"add\", \"path\": \"/t\", \"value\": [1]}]'\n",
    "kind: ValueAddTransformer\nmetadata: {name: t}\nvalue: v\ntargets:\n- selector: {kind: ConfigMap}\n  notation: x\n  fieldPath: data/added\n",
];
const GENERATORS: [&str; 4] = [
    "kind: ConfigMapGenerator\nmetadata: {name: made}\nname: made\nliterals: [a=b, \"c=1\"]\n",
    "kind: SecretGenerator\nmetadata: {name: kept}\nname: kept\nbehavior: create\nliterals: [p=q]\ntype: Opaque\n",
    "kind: ConfigMapGenerator\nmetadata: {name: files, namespace: one}\nname: files\nfiles: [file.txt]\noptions: {disableNameSuffixHash: true}\n",
    "kind: IAMPolicyGenerator\nmetadata: {name: iam}\ncloud: gke\nkubernetesService: {namespace: k, name: k-sa}\nserviceAccount: {name: g, projectId: p}\n",
];

impl Tape<'_> {
    pub(super) fn plugin_entries(&mut self, text: &mut String) {
        let (field, body) = match self.next(8) {
            0..=4 => ("transformers", self.pick(&TRANSFORMERS)),
            5 | 6 => ("generators", self.pick(&GENERATORS)),
            _ => ("validators", self.pick(&TRANSFORMERS)),
        };
        let body = format!("apiVersion: builtin\n{body}");
        if self.chance(2) {
            let _ = write!(text, "{field}:\n- |-\n{}", indented(&body));
        } else {
            self.extra.insert("plugin.yaml".to_owned(), body);
            let _ = writeln!(text, "{field}: [plugin.yaml]");
        }
    }
}
