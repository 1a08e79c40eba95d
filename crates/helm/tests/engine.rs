//! What the real helm cannot be asked, or does worse: limits, archives, empty files, look-ups.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail this way")]

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use sluice_helm::{
    Archive, Budget, Chart, File, Loader, Log, Lookup, LookupError, RenderOptions, Target, Values,
    process_dependencies, render,
};

const CHART: &str = "apiVersion: v2\nname: chart\nversion: 0.1.0\n";

fn chart(files: &[(&str, &str)]) -> Chart {
    let files = files.iter().copied().chain([("Chart.yaml", CHART)]);
    let files = files.map(|(name, text)| File::new(name, text.as_bytes().to_vec()));
    Loader::default().load_files(files.collect()).unwrap()
}

fn rendered(files: &[(&str, &str)], options: &RenderOptions) -> Result<String, String> {
    let target = Target::install("rel", "ns");
    render(&chart(files), &Values::new(), &target, options)
        .map(|rendered| rendered.manifest(false))
        .map_err(|error| error.to_string())
}

/// An archive of these entries.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, data) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, *data).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

// H09: Helm 4.2 panics on the empty file.
#[test]
fn an_empty_file_has_no_lines() {
    let template = "a:\n{{- range .Files.Lines \"empty\" }}\n- {{ . | quote }}\n{{- end }}\n{{- range .Files.Lines \
                    \"one\" }}\n- {{ . | quote }}\n{{- end }}\n";
    let files = [("empty", ""), ("one", "\n"), ("templates/a.yaml", template)];
    assert_eq!(
        rendered(&files, &RenderOptions::default()).unwrap(),
        "---\n# Source: chart/templates/a.yaml\na:\n- \"\"\n\n"
    );
}

#[test]
fn archives_are_read_as_directories_are() {
    let inner = archive(&[
        ("sub/Chart.yaml", b"apiVersion: v2\nname: sub\nversion: 0.1.0\n"),
        ("sub/values.yaml", b"a: 1\n"),
    ]);
    let outer = archive(&[
        ("top/Chart.yaml", format!("\u{FEFF}{CHART}").as_bytes()),
        ("top/charts/sub-0.1.0.tgz", &inner),
        ("top/charts/_skipped.tgz", b"nothing"),
        ("top/templates/a.yaml", b"a: {{ .Values.sub.a }}\n"),
    ]);
    let chart = Loader::default().load_archive(&outer).unwrap();
    assert_eq!(chart.dependencies[0].name(), "sub");
    let target = Target::install("rel", "ns");
    let rendered = render(&chart, &Values::new(), &target, &RenderOptions::default()).unwrap();
    assert_eq!(
        rendered.manifest(false),
        "---\n# Source: chart/templates/a.yaml\na: 1\n\n"
    );
}

#[test]
fn archives_that_reach_out_are_refused() {
    let error = |name: &str| {
        let entries: [(&str, &[u8]); 2] = [("x/Chart.yaml", CHART.as_bytes()), (name, b"x")];
        Loader::default()
            .load_archive(&archive(&entries))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("x/../../etc/passwd"),
        "chart illegally references parent directory"
    );
    assert_eq!(error("x//etc/passwd"), "chart illegally contains absolute paths");
    assert_eq!(error("Chart.yaml/x"), "chart yaml not in base directory");
    assert_eq!(
        Loader::default().load_archive(b"text").unwrap_err().to_string(),
        "gzip: invalid header"
    );
}

#[test]
fn archives_and_their_files_are_bounded() {
    let load = |limits: Archive, archive: &[u8]| {
        let loader = Loader { limits };
        loader.load_archive(archive).unwrap_err().to_string()
    };
    let large = archive(&[("x/Chart.yaml", CHART.as_bytes()), ("x/large", &[0; 5_000])]);
    let small = Archive {
        file_bytes: 4_000,
        ..Archive::default()
    };
    assert_eq!(
        load(small, &large),
        "decompressed chart file \"x/large\" is larger than the maximum file size 4000"
    );
    let total = Archive {
        total_bytes: 4_000,
        ..Archive::default()
    };
    assert_eq!(
        load(total, &large),
        "decompressed chart is larger than the maximum size 4000"
    );
    let few = Archive {
        files: 1,
        ..Archive::default()
    };
    assert_eq!(load(few, &large), "the chart holds more than 1 files");
    // A stream that unpacks without end is cut before it is all in memory.
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    let mut header = tar::Header::new_ustar();
    header.set_path("x/bomb").unwrap();
    header.set_size(u64::from(u32::MAX));
    header.set_cksum();
    bomb.write_all(header.as_bytes()).unwrap();
    bomb.write_all(&[0; 4096]).unwrap();
    let bomb = bomb.finish().unwrap();
    assert_eq!(
        load(Archive::default(), &bomb),
        "decompressed chart is larger than the maximum size 104857600"
    );
}

#[test]
fn renders_end_at_their_budget() {
    let options = RenderOptions {
        budget: Budget {
            steps: 1_000,
            ..Budget::default()
        },
        ..RenderOptions::default()
    };
    let template = "{{ range until 100000 }}{{ . }}{{ end }}";
    let error = rendered(&[("templates/a.yaml", template)], &options).unwrap_err();
    assert!(error.contains("more than 1000 steps in one render"), "{error}");
}

struct Cluster;

impl Lookup for Cluster {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<serde_json::Value>, LookupError> {
        match kind {
            "ConfigMap" => Ok(Some(
                serde_json::json!({"data": {"at": format!("{api_version} {namespace}/{name}"), "n": 3}}),
            )),
            "Secret" => Ok(None),
            _ => Err(LookupError(format!("no matches for kind \"{kind}\""))),
        }
    }
}

#[test]
fn look_ups_are_answered_by_the_cluster() {
    let options = RenderOptions {
        lookup: Some(Arc::new(Cluster)),
        ..RenderOptions::default()
    };
    let template = "{{ (lookup \"v1\" \"ConfigMap\" \"n\" \"x\").data | toJson }}{{ lookup \"v1\" \"Secret\" \"n\" \"x\" }}";
    assert_eq!(
        rendered(&[("templates/a.yaml", template)], &options).unwrap(),
        "---\n# Source: chart/templates/a.yaml\n{\"at\":\"v1 n/x\",\"n\":3}map[]\n"
    );
    let template = "{{ lookup \"v1\" \"Nope\" \"n\" \"x\" }}";
    let error = rendered(&[("templates/a.yaml", template)], &options).unwrap_err();
    assert!(
        error.contains("error calling lookup: no matches for kind \"Nope\""),
        "{error}"
    );
}

#[test]
fn processing_dependencies_twice_changes_nothing() {
    let child = "apiVersion: v2\nname: sub\nversion: 0.1.0\n";
    let parent = "apiVersion: v2\nname: top\nversion: 0.1.0\ndependencies:\n- {name: sub, version: '*', alias: other, \
                  condition: other.on, import-values: [data]}\n";
    let files = [
        ("Chart.yaml", parent),
        ("values.yaml", "other: {on: true}\n"),
        ("charts/sub/Chart.yaml", child),
        ("charts/sub/values.yaml", "exports: {data: {x: null, z: 1}}\n"),
    ];
    let files = files.map(|(name, text)| File::new(name, text.as_bytes().to_vec()));
    let chart = Loader::default().load_files(files.to_vec()).unwrap();
    let mut log = Log::default();
    let once = process_dependencies(&chart, &Values::new(), &mut log).unwrap();
    let twice = process_dependencies(&once, &Values::new(), &mut log).unwrap();
    assert_eq!(once.dependencies[0].name(), "other");
    assert_eq!(once.metadata, twice.metadata);
    assert_eq!(once.values, twice.values);
    assert_eq!(log.warnings(), [""; 0]);
    assert_eq!(once.values.as_ref().unwrap()["z"], serde_json::json!(1.0));
}

/// Charts go from thread to thread and are shared.
#[test]
fn charts_can_be_shared_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Chart>();
    check::<RenderOptions>();
}
