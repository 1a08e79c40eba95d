//! Release records of other versions, and what is no record.
#![allow(clippy::unwrap_used, reason = "tests fail this way")]

use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sluice_helm::HookEvent;
use sluice_helm::release::{MAX_RECORD_BYTES, Release, SecretChange, Status, Time};

fn read(json: &str) -> Result<Release, String> {
    let record = STANDARD.encode(json);
    Release::from_secret(record.as_bytes(), BTreeMap::new()).map_err(|error| error.to_string())
}

fn pack(bytes: impl Iterator<Item = Vec<u8>>) -> String {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    bytes.for_each(|bytes| encoder.write_all(&bytes).unwrap());
    STANDARD.encode(encoder.finish().unwrap())
}

/// Helm 3 has written empty texts for times that are not set, words that are gone, and no apply method.
#[test]
fn records_of_helm_3_are_read() {
    let release = read(
        r#"{"name":"old","info":{"first_deployed":"2020-01-02T03:04:05.6-07:00","last_deployed":"","deleted":"",
        "description":"Install complete","status":"deployed","unheard":1},
        "chart":{"metadata":{"name":"c","version":"1.0.0","apiVersion":"v1","engine":"gotpl","annotations":null},
        "lock":null,"templates":[{"name":"templates/a.yaml","data":"YQ=="}],"values":null,"schema":null,
        "files":null,"dependencies":[]},
        "config":{"a":1},"hooks":[{"name":"h","events":["test-success","crd-install"],"delete_policies":null,
        "last_run":{"started_at":"","completed_at":"","phase":""}}],"version":7,"namespace":"ns","extra":{}}"#,
    )
    .unwrap();
    assert_eq!(release.status(), Status::Deployed);
    assert_eq!(release.secret_name(), "sh.helm.release.v1.old.v7");
    let hooks = release.hooks.as_ref().unwrap();
    assert!(hooks[0].runs_on(HookEvent::Test) && !hooks[0].runs_on(HookEvent::PreInstall));
    assert_eq!(
        String::from_utf8(release.to_json().unwrap()).unwrap(),
        r#"{"name":"old","info":{"first_deployed":"2020-01-02T03:04:05.6-07:00","description":"Install complete","#
            .to_owned()
            + r#""status":"deployed"},"chart":{"metadata":{"name":"c","version":"1.0.0","apiVersion":"v1"},"#
            + r#""lock":null,"templates":[{"name":"templates/a.yaml","data":"YQ=="}],"values":null,"schema":null,"#
            + r#""schemamodtime":"0001-01-01T00:00:00Z","files":null},"config":{"a":1},"hooks":[{"name":"h","#
            + r#""events":["test-success","crd-install"],"last_run":{"phase":""}}],"version":7,"namespace":"ns"}"#
    );
}

#[test]
fn labels_tell_what_became_of_a_secret() {
    let mut release = read(r#"{"name":"a","version":2,"info":{"status":"pending-upgrade"}}"#).unwrap();
    assert!(release.status().is_pending());
    release.labels = BTreeMap::from([
        ("team".to_owned(), "x".to_owned()),
        ("createdAt".to_owned(), "1".to_owned()),
        ("status".to_owned(), "deployed".to_owned()),
    ]);
    let time = Time::from_unix(1_700_000_000, 999).unwrap();
    let labels = |change| {
        let secret = release.to_secret(change).unwrap();
        let labels = secret
            .labels
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        labels.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        labels(SecretChange::Created(time)),
        "createdAt=1700000000 name=a owner=helm status=pending-upgrade team=x version=2"
    );
    assert_eq!(
        labels(SecretChange::Modified(time)),
        "modifiedAt=1700000000 name=a owner=helm status=pending-upgrade team=x version=2"
    );
}

#[test]
fn what_is_no_record_is_refused_and_bombs_are_not_unpacked() {
    let error = |record: &str| {
        let read = Release::from_secret(record.as_bytes(), BTreeMap::new());
        read.unwrap_err().to_string()
    };
    assert!(error("!").starts_with("the release record is not base64: "));
    assert!(
        error(&STANDARD.encode(b"\x1F\x8B\x08\x00x")).starts_with("the release record cannot be unpacked: ")
    );
    assert!(error(&STANDARD.encode("[")).starts_with("the release record cannot be read: "));
    let bomb = pack((0..=MAX_RECORD_BYTES >> 20).map(|_| vec![b' '; 1 << 20]));
    assert_eq!(error(&bomb), "the release record has more than 134217728 bytes");
}

/// Values and manifests hold secrets: what is printed for debugging does not show them.
#[test]
fn debugging_shows_no_contents() {
    let release = read(
        r#"{"name":"a","config":{"p":"hidden"},"manifest":"hidden","info":{"notes":"x"},
        "chart":{"values":{"p":"hidden"}},"hooks":[{"manifest":"hidden"}]}"#,
    )
    .unwrap();
    let secret = release.to_secret(SecretChange::Created(Time::now())).unwrap();
    let shown = format!("{release:?}{:?}{:?}{secret:?}", release.chart, release.hooks);
    assert!(
        !shown.contains("hidden") && !shown.contains(&secret.record),
        "{shown}"
    );
}
