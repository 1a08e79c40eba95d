//! Charts whose manifests go through a post-renderer, here and in the real helm.
#![allow(clippy::unwrap_used, reason = "tests fail this way")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;

use sluice_helm::{
    Loader, OutputOptions, PostRenderStrategy, PostRenderer, PostRendering, RenderOptions, Target, Values,
    render,
};
use sluice_vfs::{MemoryFileSystem, VirtualPath};
use support::{difference, tool};

const FILES: &[(&str, &str)] = &[
    (
        "chart/Chart.yaml",
        "apiVersion: v2\nname: chart\nversion: 0.1.0\n",
    ),
    (
        "chart/templates/a.yaml",
        "# head\n\n# of the map\napiVersion: v1\nkind: ConfigMap # line\nmetadata:\n    name: a\n    annotations:\n        x: \"1\"\n\
         data: {color: red, list: [1, 2]}\n---\n# nothing\n---apiVersion: v1\nkind: Service\nmetadata:\n  name: s\nspec:\n  \
         ports:\n    - port: 1\n      name: red\n    - &b {port: 2}\n    - *b\n  text: |\n    red\n\n    blue\n\n# foot\n",
    ),
    (
        "chart/templates/hook.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n",
    ),
    (
        "chart/templates/list.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: one}\n\
         - apiVersion: v1\n  kind: Secret\n  metadata: {name: two, annotations: {}}\n",
    ),
    (
        "chart/templates/plain.yaml",
        "apiVersion: v1\nkind: Namespace\nname: bare\n",
    ),
    ("chart/templates/blank.yaml", "{{ if false }}x{{ end }}\n"),
    ("chart/templates/NOTES.txt", "Thanks.\n"),
];

const ADDED: &str = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: added\n";

/// Colours everything and adds a document.
struct Painter;

impl PostRenderer for Painter {
    fn run(&self, stream: &str) -> Result<String, String> {
        Ok(format!("{}{ADDED}", stream.replace("red", "green")))
    }
}

struct Broken;

impl PostRenderer for Broken {
    fn run(&self, _: &str) -> Result<String, String> {
        Err("it broke".to_owned())
    }
}

fn ours(
    renderer: Arc<dyn PostRenderer + Send + Sync>,
    strategy: PostRenderStrategy,
) -> Result<String, String> {
    let files = FILES.iter().map(|(path, text)| (*path, text.as_bytes().to_vec()));
    let tree = MemoryFileSystem::from_files(files).unwrap();
    let chart = Loader::default().load_directory(&tree, &VirtualPath::parse("chart").unwrap());
    let options = RenderOptions {
        post_rendering: Some(PostRendering { renderer, strategy }),
        ..RenderOptions::default()
    };
    let target = Target::install("rel", "ns");
    let rendered = render(&chart.unwrap(), &Values::new(), &target, &options);
    let rendered = rendered.map_err(|error| error.to_string())?;
    assert_eq!(rendered.notes, "Thanks.\n");
    Ok(rendered.output(&OutputOptions::default()).unwrap())
}

#[test]
fn post_rendered_manifests_are_those_of_helm() {
    let Some(helm) = tool("helm") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    for (path, text) in FILES {
        write(path, text);
    }
    write(
        "plugins/painter/plugin.yaml",
        "apiVersion: v1\nname: painter\nversion: 0.1.0\ntype: postrenderer/v1\nruntime: subprocess\nruntimeConfig:\n  \
         platformCommand:\n  - command: \"${HELM_PLUGIN_DIR}/run\"\n",
    );
    let program = write(
        "plugins/painter/run",
        &format!("#!/bin/sh\nsed s/red/green/g\nprintf '%s' '{ADDED}'\n"),
    );
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(helm)
        .args([
            "template",
            "rel",
            "chart",
            "--namespace",
            "ns",
            "--post-renderer",
            "painter",
        ])
        .current_dir(directory.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", directory.path())
        .env("HELM_PLUGINS", directory.path().join("plugins"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let wanted = String::from_utf8(output.stdout).unwrap();
    let found = ours(Arc::new(Painter), PostRenderStrategy::Combined).unwrap();
    assert!(wanted == found, "{}", difference(&wanted, &found));
}

#[test]
fn hooks_are_post_rendered_as_the_strategy_says() {
    let separate = ours(Arc::new(Painter), PostRenderStrategy::Separate).unwrap();
    assert_eq!(separate.matches("name: added").count(), 2);
    assert!(separate.contains("# Source: generated-by-postrender-hooks-1.yaml\n"));
    assert!(separate.contains("# Source: generated-by-postrender-manifests-5.yaml\n"));
    let without = ours(Arc::new(Painter), PostRenderStrategy::NoHooks).unwrap();
    assert_eq!(without.matches("name: added").count(), 1);
    let hook = "# Source: chart/templates/hook.yaml\napiVersion: v1\nkind: Pod\n\
                metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n";
    assert!(without.contains(hook), "{without}");
}

#[test]
fn failures_name_the_step() {
    let error = |strategy| ours(Arc::new(Broken), strategy).unwrap_err();
    assert_eq!(
        error(PostRenderStrategy::Combined),
        "error while running post render on files: it broke"
    );
    assert_eq!(
        error(PostRenderStrategy::NoHooks),
        "error while running post render on manifests: it broke"
    );
    assert_eq!(
        error(PostRenderStrategy::Separate),
        "error while running post render on hooks: it broke"
    );
}
