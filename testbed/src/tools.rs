//! Finding the programs and data sets that tests need, and asking the upstream tools.
//!
//! | variable | holds | default |
//! |---|---|---|
//! | `SLUICE_TOOLS` | programs built by `testbed/build` | `.tools` in the workspace |
//! | `SLUICE_CORPUS` | inputs with the outputs of the real tools | `../shared/corpus` beside the workspace |
//! | `SLUICE_ORACLE` | data of other projects to compare with, such as CRDs | `../shared/oracle` beside the workspace |
//! | `SLUICE_REQUIRE` | `1`: a test whose tool or data is missing fails instead of being skipped | unset |

use std::fmt::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// Names the folder that holds the tools.
pub const TOOLS_VARIABLE: &str = "SLUICE_TOOLS";
/// Names the folder that holds the corpora.
pub const CORPUS_VARIABLE: &str = "SLUICE_CORPUS";
/// Names the folder that holds other projects' data to compare with.
pub const ORACLE_VARIABLE: &str = "SLUICE_ORACLE";
/// `1` makes a missing tool or data set an error.
pub const REQUIRE_VARIABLE: &str = "SLUICE_REQUIRE";

/// The root of the workspace that this crate was built in.
pub fn workspace() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}

fn folder(variable: &str, default: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| workspace().join(default), PathBuf::from)
}

/// The program of that name which `testbed/build` makes: `control-plane`, `kwok`, `kustomize`, `helm`, `oracle`.
pub fn tool(name: &str) -> Result<PathBuf> {
    found(
        format!("tool {name}"),
        folder(TOOLS_VARIABLE, ".tools").join(name),
        "run testbed/build, or point SLUICE_TOOLS to where it was built",
    )
}

/// A file or folder of the corpora, such as `kustomize` or `semver/semver.json`.
pub fn corpus(name: &str) -> Result<PathBuf> {
    found(
        format!("corpus {name}"),
        folder(CORPUS_VARIABLE, "../shared/corpus").join(name),
        "point SLUICE_CORPUS to the corpora",
    )
}

/// A file or folder of other projects' data, such as `crds`.
pub fn oracle_data(name: &str) -> Result<PathBuf> {
    found(
        format!("oracle data {name}"),
        folder(ORACLE_VARIABLE, "../shared/oracle").join(name),
        "point SLUICE_ORACLE to the data",
    )
}

/// A program of the system, looked up in `PATH`, such as `git` or `kubectl`.
pub fn system(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| Error::Missing {
            what: format!("program {name}"),
            path: PathBuf::from("$PATH"),
            remedy: "install it",
        })
}

fn found(what: String, path: PathBuf, remedy: &'static str) -> Result<PathBuf> {
    if path.exists() {
        Ok(path)
    } else {
        Err(Error::Missing { what, path, remedy })
    }
}

/// Gives what was found. If it is [missing](Error::Missing), says `SKIPPED: ...` on standard error, even
/// where the test runner captures output, and gives `None`: the test returns.
///
/// # Panics
///
/// With `SLUICE_REQUIRE=1` if it is missing, and always on any other error: what is there must work.
#[expect(clippy::panic, reason = "called by tests, which fail this way")]
#[track_caller]
pub fn require_or_skip<T, E: MaybeMissing + Display>(found: Result<T, E>) -> Option<T> {
    match found {
        Ok(value) => Some(value),
        Err(error) if error.is_missing() && std::env::var(REQUIRE_VARIABLE).as_deref() != Ok("1") => {
            let test = std::thread::current().name().unwrap_or("a test").to_owned();
            // Not eprintln: the test runner would swallow it.
            let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// An error that can say whether it is about something missing on this machine.
pub trait MaybeMissing {
    /// True if a test may be skipped for it.
    fn is_missing(&self) -> bool;
}

impl MaybeMissing for Error {
    fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

impl<E: MaybeMissing> MaybeMissing for &E {
    fn is_missing(&self) -> bool {
        (*self).is_missing()
    }
}

/// Asks a subcommand of `oracle`, which answers with the libraries that Flux itself is built from. What it
/// takes and gives is described in its source under `testbed/oracles`.
pub fn ask_oracle<Cases: Serialize + ?Sized, Answers: DeserializeOwned>(
    subcommand: &str,
    cases: &Cases,
) -> Result<Answers> {
    let input = serde_json::to_vec(cases).map_err(Error::json(format!("cases for oracle {subcommand}")))?;
    let output = pipe(Command::new(tool("oracle")?).arg(subcommand), input)?;
    serde_json::from_slice(&output).map_err(Error::json(format!("answers of oracle {subcommand}")))
}

/// What the real `kustomize build` prints for a directory, given further arguments.
pub fn kustomize_build(directory: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    pipe(
        Command::new(tool("kustomize")?)
            .arg("build")
            .arg(directory)
            .args(arguments),
        Vec::new(),
    )
}

/// Runs a command with the given standard input and returns its standard output; a failure carries what it
/// wrote to standard error.
pub fn pipe(command: &mut Command, input: Vec<u8>) -> Result<Vec<u8>> {
    let program = PathBuf::from(command.get_program());
    let what = format!("{command:?}");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|source| Error::Start { program, source })?;
    let stdin = child.stdin.take();
    // Input is written beside reading the output, or both sides could wait for each other.
    let writer = std::thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(&input)));
    let output = child.wait_with_output().map_err(Error::io(what.clone()))?;
    let _ = writer.join();
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::Failed {
        what,
        output: format!("{}: {}", output.status, said.trim()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tool_names_where_it_was_looked_for_and_the_remedy() {
        let error = tool("no-such-tool").unwrap_err();
        assert!(error.is_missing());
        let text = error.to_string();
        assert!(
            text.contains("no-such-tool") && text.contains("testbed/build"),
            "{text}"
        );
    }

    #[test]
    fn failing_command_carries_what_it_wrote() {
        let error = pipe(
            Command::new("sh").args(["-c", "cat; echo broken >&2; exit 3"]),
            b"in".to_vec(),
        )
        .unwrap_err();
        let text = error.to_string();
        assert!(text.contains("broken") && text.contains('3'), "{text}");
        assert!(!error.is_missing());
    }

    #[test]
    fn input_larger_than_a_pipe_is_passed_through() {
        let input = vec![b'x'; 1 << 20];
        assert_eq!(pipe(&mut Command::new("cat"), input.clone()).unwrap(), input);
    }

    #[test]
    fn oracle_answers_or_says_what_it_knows() {
        let Some(_) = require_or_skip(tool("oracle")) else {
            return;
        };
        let error = ask_oracle::<_, serde_json::Value>("no-such-subcommand", &Vec::<u8>::new()).unwrap_err();
        assert!(error.to_string().contains("subcommands"), "{error}");
    }
}
