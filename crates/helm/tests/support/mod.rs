//! The same chart rendered by the engine and by the real helm.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use sluice_helm::{
    Capabilities, KubeVersion, Loader, OutputOptions, RenderError, RenderOptions, Target, ValuesBuilder,
    render,
};
use sluice_vfs::{MemoryFileSystem, VirtualPath};

/// Files of a chart and of values, by path below one folder; the chart stands in `chart/`.
pub(crate) type Files = Vec<(String, String)>;

/// A tool of the test bed, or None (after saying so) where it is absent and not required.
pub(crate) fn tool(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("SLUICE_TOOLS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools"),
        PathBuf::from,
    );
    let path = folder.join(name);
    if path.is_file() {
        return Some(path);
    }
    skip(&format!(
        "no {name} in {} (./testbed/build {name})",
        folder.display()
    ));
    None
}

/// Says that a test did not run, or fails if it must.
pub(crate) fn skip(reason: &str) {
    assert!(
        std::env::var_os("SLUICE_REQUIRE").is_none_or(|value| value != "1"),
        "required: {reason}"
    );
    eprintln!("SKIPPED: {reason}");
}

/// Charts in one file: lines `run: ARGUMENTS` and, where helm must refuse, `fail: ARGUMENTS`, then each file
/// after a line `-- PATH --`.
pub(crate) struct Case {
    /// Arguments, and whether the chart renders with them.
    pub(crate) runs: Vec<(Vec<String>, bool)>,
    pub(crate) files: Files,
}

impl Case {
    pub(crate) fn parse(text: &str) -> Self {
        let mut runs = Vec::new();
        let mut files: Files = Vec::new();
        for line in text.split_inclusive('\n') {
            let trimmed = line.trim_end();
            let heading = trimmed
                .strip_prefix("-- ")
                .and_then(|rest| rest.strip_suffix(" --"));
            match (heading, files.last_mut()) {
                (Some(path), _) => {
                    files.push((format!("chart/{path}").replace("chart/../", ""), String::new()));
                }
                (None, Some((_, contents))) => contents.push_str(line),
                (None, None) => {
                    for (word, renders) in [("run:", true), ("fail:", false)] {
                        if let Some(arguments) = trimmed.strip_prefix(word) {
                            runs.push((arguments.split_whitespace().map(str::to_owned).collect(), renders));
                        }
                    }
                }
            }
        }
        Self { runs, files }
    }
}

/// What the real helm prints, or its error.
pub(crate) fn run_real(helm: &Path, directory: &Path, arguments: &[String]) -> Result<String, String> {
    let home = directory.join(".home");
    let output = Command::new(helm)
        .args(["template", "rel", "chart", "--namespace", "ns"])
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("HOME", &home)
        .env("HELM_CACHE_HOME", home.join("cache"))
        .env("HELM_CONFIG_HOME", home.join("config"))
        .env("HELM_DATA_HOME", home.join("data"))
        .output()
        .unwrap();
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let start = text.find("Error: ").expect("helm says Error");
    let error = text[start + "Error: ".len()..].trim_end();
    let error = error
        .strip_suffix("\n\nUse --debug flag to render out invalid YAML")
        .unwrap_or(error);
    Err(error.to_owned())
}

/// Writes the files below a folder.
pub(crate) fn write(directory: &Path, files: &Files) {
    for (path, contents) in files {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }
}

/// What the engine renders, with the arguments of `helm template`.
pub(crate) fn run_ours(files: &Files, arguments: &[String]) -> Result<String, String> {
    let tree = MemoryFileSystem::from_files(
        files
            .iter()
            .map(|(path, contents)| (path.as_str(), contents.clone().into_bytes())),
    )
    .unwrap();
    let file = |name: &str| {
        let found = files.iter().find(|(path, _)| path == name);
        found
            .map(|(_, contents)| contents.clone())
            .ok_or_else(|| format!("open {name}: no such file or directory"))
    };
    let mut options = RenderOptions::default();
    let mut target = Target::install("rel", "ns");
    let mut output = OutputOptions::default();
    let mut assignments: Vec<(&str, &str)> = Vec::new();
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(flag) = rest.next() {
        match flag {
            "--include-crds" => output.custom_resources = true,
            "--no-hooks" => output.no_hooks = true,
            "--skip-tests" => output.skip_tests = true,
            "--skip-schema-validation" => options.skip_schema = true,
            "--is-upgrade" => target.is_upgrade = true,
            "--show-only" => output.show_only.push(rest.next().unwrap().to_owned()),
            "--kube-version" => {
                options.capabilities.kube_version = KubeVersion::parse(rest.next().unwrap()).unwrap();
            }
            "--api-versions" => options
                .capabilities
                .api_versions
                .push(rest.next().unwrap().to_owned()),
            flag => assignments.push((flag, rest.next().unwrap())),
        }
    }
    let mut values = ValuesBuilder::new();
    for wanted in [
        "-f",
        "--set-json",
        "--set",
        "--set-string",
        "--set-file",
        "--set-literal",
    ] {
        for &(flag, argument) in assignments.iter().filter(|(flag, _)| *flag == wanted) {
            match flag {
                "-f" => values.file(argument, file(argument)?.as_bytes()),
                "--set-json" => values.json(argument),
                "--set" => values.set(argument),
                "--set-string" => values.set_string(argument),
                "--set-file" => values.set_file(argument, &file),
                _ => values.set_literal(argument),
            }
            .map_err(|error| error.to_string())?;
        }
    }
    let chart = Loader::default()
        .load_directory(&tree, &VirtualPath::parse("chart").unwrap())
        .map_err(|error| error.to_string())?;
    chart.check_installable().map_err(|error| error.to_string())?;
    chart.check_dependencies().map_err(|error| {
        format!(
            "an error occurred while checking for chart dependencies. You may need to run 'helm dependency \
             build' to fetch missing dependencies: {error}"
        )
    })?;
    let rendered =
        render(&chart, &values.build(), &target, &options).map_err(|error: RenderError| error.to_string())?;
    rendered.output(&output).map_err(|error| error.to_string())
}

/// Where two texts differ, with the lines around.
pub(crate) fn difference(wanted: &str, found: &str) -> String {
    let same = wanted
        .lines()
        .zip(found.lines())
        .take_while(|(first, second)| first == second)
        .count();
    let around = |text: &str| {
        let lines = text.lines().skip(same.saturating_sub(3)).take(9);
        lines.map(|line| format!("  {line}\n")).collect::<String>()
    };
    format!(
        "at line {}\nhelm:\n{}ours:\n{}",
        same + 1,
        around(wanted),
        around(found)
    )
}

/// Compares one run.
///
/// # Errors
/// How they differ.
pub(crate) fn compare(
    helm: &Path,
    directory: &Path,
    files: &Files,
    arguments: &[String],
) -> Result<bool, String> {
    let found = run_ours(files, arguments);
    let mut wanted = run_real(helm, directory, arguments);
    // Helm goes through the charts in a chart in the order of one of Go's maps, another one in each run, and names
    // the first that is wrong.
    for _ in 0..20 {
        let is_first_of_some = matches!(&wanted, Err(error) if error.contains("type mismatch on"));
        if !is_first_of_some || wanted == found {
            break;
        }
        wanted = run_real(helm, directory, arguments);
    }
    match (wanted, found) {
        (Ok(wanted), Ok(found)) if wanted == found => Ok(true),
        (Err(wanted), Err(found)) if wanted == found => Ok(false),
        (Ok(wanted), Ok(found)) => Err(difference(&wanted, &found)),
        (Ok(_), Err(error)) => Err(format!("only ours fails: {error}")),
        (Err(error), Ok(found)) => Err(format!("only helm fails: {error}\nours:\n{found}")),
        (Err(wanted), Err(found)) => Err(format!("helm says: {wanted}\nours says: {found}")),
    }
}

/// What the engine assumes without a cluster.
pub(crate) fn default_capabilities() -> Capabilities {
    Capabilities::default()
}
