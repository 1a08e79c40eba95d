//! What is wrong with the input shows in the status: type, reason, message, and the culprit by name.

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write as _;

use crate::harness::{Cluster, archive, condition, config_map, message};

/// One bad input: the artifact, the spec, and what the status must say.
struct Bad {
    name: &'static str,
    artifact: Vec<u8>,
    spec: Value,
    reason: &'static str,
    /// Texts that the message must contain, among them the culprit.
    says: Vec<String>,
    stalled: bool,
}

/// A gzip-compressed tar of one entry, written by hand: what an honest writer refuses to write.
fn raw_archive(name: &str, kind: u8, link: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    header[136..148].copy_from_slice(b"00000000000\0");
    header[156] = kind;
    header[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut tar = header.to_vec();
    tar.extend(content);
    tar.resize(tar.len().next_multiple_of(512) + 1024, 0);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&tar).unwrap();
    encoder.finish().unwrap()
}

fn bad(name: &'static str, files: &[(&str, &str)], spec: Value, reason: &'static str, says: &[&str]) -> Bad {
    let says = says.iter().map(|text| (*text).to_owned()).collect();
    Bad {
        name,
        artifact: archive(files),
        spec,
        reason,
        says,
        stalled: false,
    }
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn table(namespace: &str) -> Vec<Bad> {
    let good = config_map("a", "1");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: 'ENC[AES256_GCM,data:x]'}\nsops: {mac: x}\n";
    let mut table = vec![
        // KUS-020
        bad(
            "path",
            &[("a.yaml", &good)],
            json!({"path": "./apps"}),
            "ArtifactFailed",
            &["kustomization path not found", "apps"],
        ),
        // KUS-021
        bad(
            "broken YAML",
            &[("good.yaml", &good), ("bad.yaml", "a: [\n")],
            json!({}),
            "BuildFailed",
            &["failed to decode Kubernetes YAML from bad.yaml"],
        ),
        bad(
            "no object",
            &[("values.yaml", "replicas: 1\n")],
            json!({}),
            "BuildFailed",
            &["failed to decode Kubernetes YAML from values.yaml"],
        ),
        bad(
            "duplicate ids",
            &[("a.yaml", &good), ("b.yaml", &good)],
            json!({}),
            "BuildFailed",
            &["kustomize build failed", "ConfigMap", "a"],
        ),
        bad(
            "missing resource",
            &[("kustomization.yaml", "resources: [gone.yaml]\n")],
            json!({}),
            "BuildFailed",
            &["kustomize build failed", "gone.yaml"],
        ),
        // KUS-026
        bad(
            "missing component",
            &[("a.yaml", &good)],
            json!({"components": ["gone"]}),
            "BuildFailed",
            &["kustomize build failed", "gone"],
        ),
        bad(
            "remote component",
            &[("a.yaml", &good)],
            json!({"components": ["https://example.com/c"]}),
            "BuildFailed",
            &["component path 'https://example.com/c' must be local and relative"],
        ),
        // KUS-030
        bad(
            "outside the root",
            &[("kustomization.yaml", "resources: [../../etc/passwd]\n")],
            json!({}),
            "BuildFailed",
            &["kustomize build failed", "etc/passwd"],
        ),
        // KUS-033
        bad(
            "unset variable",
            &[("a.yaml", &config_map("a", "${gone}"))],
            json!({"postBuild": {"substitute": {"x": "y"}}}),
            "BuildFailed",
            &[
                "post build failed for 'ConfigMap.v1.[noGrp]/a'",
                "variable not set (strict mode): \"gone\"",
            ],
        ),
        // KUS-034
        bad(
            "missing variables",
            &[("a.yaml", &good)],
            json!({"postBuild": {"substituteFrom": [{"kind": "Secret", "name": "gone"}]}}),
            "BuildFailed",
            &["substitute from 'Secret/gone' error: secrets \"gone\" not found"],
        ),
        // KUS-036
        bad(
            "variable name",
            &[("a.yaml", &good)],
            json!({"postBuild": {"substitute": {"1a": "b"}}}),
            "BuildFailed",
            &["'1a' var name is invalid"],
        ),
        // KUS-019
        bad(
            "no namespace",
            &[("a.yaml", &good)],
            json!({}),
            "ReconciliationFailed",
            &["ConfigMap/a namespace not specified: the server could not find the requested resource"],
        ),
        bad(
            "missing namespace",
            &[("a.yaml", &good)],
            json!({"targetNamespace": "gone"}),
            "ReconciliationFailed",
            &["ConfigMap/gone/a not found: namespaces \"gone\" not found"],
        ),
        bad(
            "unknown kind",
            &[(
                "a.yaml",
                "apiVersion: example.com/v1\nkind: Gone\nmetadata: {name: x}\n",
            )],
            json!({"targetNamespace": namespace}),
            "ReconciliationFailed",
            &[
                "Gone/",
                "/x dry-run failed: no matches for kind \"Gone\" in version \"example.com/v1\"",
            ],
        ),
        // KUS-045
        bad(
            "encrypted Secret",
            &[("s.yaml", secret)],
            json!({"targetNamespace": namespace}),
            "ReconciliationFailed",
            &[
                "Secret/",
                "/s is SOPS encrypted, configuring decryption is required for this secret to be reconciled",
            ],
        ),
    ];
    for (name, bytes, says) in [
        (
            "climbs",
            raw_archive("../evil.yaml", b'0', "", b"x"),
            "tar contained invalid name error",
        ),
        (
            "absolute",
            raw_archive("/etc/evil.yaml", b'0', "", b"x"),
            "tar contained invalid name error",
        ),
        (
            "backslash",
            raw_archive("a\\b.yaml", b'0', "", b"x"),
            "tar contained invalid name error",
        ),
        (
            "device",
            raw_archive("null", b'3', "", b""),
            "unsupported file type",
        ),
        ("no gzip", b"plain text".to_vec(), "requires gzip-compressed body"),
    ] {
        let says = vec!["failed to extract archive".to_owned(), says.to_owned()];
        table.push(Bad {
            name,
            artifact: bytes,
            spec: json!({}),
            reason: "ArtifactFailed",
            says,
            stalled: false,
        });
    }
    let says = "spec.decryption is not supported by this version of kustomize-controller";
    table.push(Bad {
        name: "decryption",
        artifact: archive(&[("a.yaml", &good)]),
        spec: json!({"decryption": {"provider": "sops"}}),
        reason: "FeatureGateDisabled",
        says: vec![says.to_owned()],
        stalled: true,
    });
    table
}

/// KUS-019, KUS-020, KUS-021, KUS-026, KUS-029, KUS-030, KUS-033, KUS-034, KUS-036, KUS-045
#[tokio::test]
async fn bad_inputs_are_named_in_the_status() {
    let Some(cluster) = Cluster::new("bad").await else {
        return;
    };
    let table = table(cluster.namespace());
    for (at, case) in table.iter().enumerate() {
        let source = format!("source{at}");
        cluster
            .push_bytes(&source, "main@sha1:1", case.artifact.clone(), None)
            .await;
        let mut spec = case.spec.clone();
        spec["sourceRef"] = json!({"kind": "GitRepository", "name": source});
        cluster.create(&format!("bad{at}"), spec).await;
    }
    for (at, case) in table.iter().enumerate() {
        let object = cluster.failed(&format!("bad{at}"), case.reason).await;
        for text in &case.says {
            assert!(
                message(&object).contains(text.as_str()),
                "{}: {:?} is not in {:?}",
                case.name,
                text,
                message(&object)
            );
        }
        assert_eq!(
            condition(&object, "Stalled").is_some(),
            case.stalled,
            "{}",
            case.name
        );
        assert!(
            object
                .status
                .as_ref()
                .unwrap()
                .inventory
                .as_ref()
                .is_none_or(|inventory| inventory.entries.is_empty()),
            "{}",
            case.name
        );
    }
}

/// Links in an archive are left out; the rest is applied.
#[tokio::test]
async fn links_in_an_archive_are_left_out() {
    let Some(cluster) = Cluster::new("links").await else {
        return;
    };
    cluster
        .push_bytes(
            "source",
            "main@sha1:1",
            raw_archive("link.yaml", b'2', "/etc/passwd", b""),
            None,
        )
        .await;
    cluster.create("apps", json!({})).await;
    let object = cluster.ready("apps").await;
    assert!(object.status.unwrap().inventory.unwrap().entries.is_empty());
}

/// What unpacks to more than the limits is refused, and what lies within them is applied.
#[tokio::test]
async fn archives_with_too_many_bytes_or_files_are_refused() {
    let flags = ["--artifact-max-size=100000", "--artifact-max-files=20"];
    let Some(cluster) = Cluster::with_flags("large", &flags).await else {
        return;
    };
    let good = config_map("a", "1");
    let large = format!("{good}# {}\n", "x".repeat(100_000));
    let names: Vec<String> = (0..21).map(|index| format!("notes/{index}.txt")).collect();
    let mut many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    many.push(("a.yaml", &good));
    let few = [("notes/1.txt", "x"), ("a.yaml", &good)];
    for (name, artifact) in [
        ("bytes", archive(&[("a.yaml", &large)])),
        ("files", archive(&many)),
        ("few", archive(&few)),
    ] {
        let source = format!("source-{name}");
        cluster.push_bytes(&source, "main@sha1:1", artifact, None).await;
        let source = json!({"kind": "GitRepository", "name": source});
        let spec = json!({"targetNamespace": cluster.namespace(), "sourceRef": source});
        cluster.create(name, spec).await;
    }
    for (name, says) in [
        ("bytes", "archive is bigger than max archive size of 100000 bytes"),
        ("files", "archive holds more than 20 files and directories"),
    ] {
        let object = cluster.failed(name, "ArtifactFailed").await;
        let message = message(&object);
        assert!(
            message.contains("failed to extract archive") && message.contains(says),
            "{name}: {message}"
        );
    }
    cluster.ready("few").await;
}
