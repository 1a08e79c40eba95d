//! Completion of words by shells: of the grammar, and of the names that only the cluster knows.
//!
//! The script of `sluice completion` calls the program again for each completion, which then answers in place of
//! running a command. A cluster that cannot be reached, or does not answer at once, has no names: the shell gets
//! none, and no message disturbs the line.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::{ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
use clap_complete::env::{Bash, CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Zsh};
use clap_complete::{CompletionCandidate, Shell};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

use crate::arguments::Arguments;
use crate::cluster::{Cluster, ClusterArguments};
use crate::error::{CommandError, Result};
use crate::kind::Kind;

/// The variable by which a script tells that it wants an answer.
const VARIABLE: &str = "SLUICE_COMPLETE";

/// The place of the word that is completed among all words, where a shell tells it.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";

/// How long a cluster may take. Who presses a key does not wait for long.
const PATIENCE: Duration = Duration::from_secs(3);

/// The most names that are asked for.
const MOST_NAMES: u32 = 500;

/// Answers a shell that asks for completions, and ends the process then. Returns where none asks.
pub(crate) fn answer() {
    CompleteEnv::with_factory(grammar)
        .var(VARIABLE)
        .bin("sluice")
        .complete();
}

/// The grammar for completion: flags are offered to who has begun one, or where there is nothing else.
fn grammar() -> Command {
    let begun = process_line().is_some_and(|(_, current)| current.to_string_lossy().starts_with('-'));
    if begun {
        Arguments::command()
    } else {
        without_flags(Arguments::command())
    }
}

fn without_flags(command: Command) -> Command {
    command
        .disable_help_flag(true)
        .disable_version_flag(true)
        .mut_args(|argument| {
            let is_flag = !argument.is_positional();
            argument.hide(is_flag)
        })
        .mut_subcommands(without_flags)
}

/// The words before the one that is completed, and that one, as a script handed them over behind `--`.
fn process_line() -> Option<(Vec<OsString>, OsString)> {
    let mut line: Vec<OsString> = std::env::args_os()
        .skip_while(|argument| argument != "--")
        .skip(1)
        .collect();
    let index = std::env::var(INDEX).ok().and_then(|index| index.parse().ok());
    let index: usize = index.unwrap_or_else(|| line.len().saturating_sub(1));
    let current = line.get(index).cloned().unwrap_or_default();
    if index > line.len() {
        return None;
    }
    line.truncate(index);
    Some((line, current))
}

/// The script that makes a shell ask.
///
/// # Errors
/// There is no such script for the shell.
pub(crate) fn script(shell: Shell) -> Result<String> {
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => &Bash,
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::PowerShell => &Powershell,
        Shell::Zsh => &Zsh,
        other => return Err(CommandError::new(format!("no completion for {other}"))),
    };
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "sluice", "sluice", "sluice", &mut script)
        .map_err(|error| CommandError::new(error.to_string()))?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Words that name kinds, then names of objects of that kind.
pub(crate) fn words(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(line) = Line::of_process() else {
        return Vec::new();
    };
    match Kind::split(&line.words) {
        Ok((kinds, _)) => match kinds.as_slice() {
            [kind] => candidates(current, line.names(kind)),
            _ => Vec::new(),
        },
        Err(_) => candidates(current, Kind::words_after(&line.words)),
    }
}

/// Names of Kustomizations.
pub(crate) fn kustomizations(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = Line::of_process()
        .zip(Kind::by_name("Kustomization"))
        .map(|(line, kind)| line.names(kind));
    candidates(current, names.unwrap_or_default())
}

/// Names of namespaces.
pub(crate) fn namespaces(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = Line::of_process().map(|line| line.namespaces());
    candidates(current, names.unwrap_or_default())
}

/// Names of the contexts of the kubeconfig.
pub(crate) fn contexts(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = Line::of_process().map(|line| line.cluster.contexts());
    candidates(current, names.unwrap_or_default())
}

fn candidates(current: &OsStr, names: Vec<String>) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    names
        .into_iter()
        .filter(|name| name.starts_with(current.as_ref()))
        .map(CompletionCandidate::new)
        .collect()
}

/// What stands on the command line before the word that is completed.
struct Line {
    cluster: ClusterArguments,
    words: Vec<String>,
}

impl Line {
    fn of_process() -> Option<Self> {
        Self::read(&process_line()?.0)
    }

    fn read(line: &[OsString]) -> Option<Self> {
        let matches = Arguments::command()
            .ignore_errors(true)
            .try_get_matches_from(line)
            .ok()?;
        let mut leaf: &ArgMatches = &matches;
        while let Some((_, below)) = leaf.subcommand() {
            leaf = below;
        }
        let words = leaf.try_get_many::<String>("words").ok().flatten();
        Some(Self {
            cluster: ClusterArguments::from_arg_matches(leaf).ok()?,
            words: words.into_iter().flatten().cloned().collect(),
        })
    }

    fn names(&self, kind: &Kind) -> Vec<String> {
        self.ask(async |cluster| {
            let listed = cluster
                .objects(kind)
                .list_metadata(&ListParams::default().limit(MOST_NAMES))
                .await?;
            Ok(listed.items.iter().map(|object| object.name_any()).collect())
        })
    }

    fn namespaces(&self) -> Vec<String> {
        self.ask(async |cluster| {
            let api: Api<Namespace> = Api::all(cluster.client.clone());
            let listed = api
                .list_metadata(&ListParams::default().limit(MOST_NAMES))
                .await?;
            Ok(listed.items.iter().map(|object| object.name_any()).collect())
        })
    }

    /// What the cluster answers in time.
    fn ask(&self, question: impl AsyncFnOnce(Cluster) -> Result<Vec<String>>) -> Vec<String> {
        let Ok(runtime) = crate::prepare() else {
            return Vec::new();
        };
        let answer = async { question(Cluster::connect(&self.cluster).await?).await };
        let answer = runtime.block_on(async { tokio::time::timeout(PATIENCE, answer).await });
        // What still looks for the cluster's address would be waited for.
        runtime.shutdown_background();
        answer.ok().and_then(Result::ok).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(line: &[&str]) -> Vec<String> {
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        Line::read(&line).unwrap().words
    }

    #[test]
    fn what_stands_before_the_word_is_understood_although_the_line_is_not_whole() {
        assert_eq!(words_of(&["sluice", "get"]), [""; 0]);
        assert_eq!(words_of(&["sluice", "get", "source", "git"]), ["source", "git"]);
        assert_eq!(
            words_of(&["sluice", "get", "-o", "yaml", "ks", "apps", "--watch"]),
            ["ks", "apps"]
        );
        let line = ["sluice", "-n", "apps", "reconcile", "ks"].map(OsString::from);
        let line = Line::read(&line).unwrap();
        assert_eq!(line.cluster.namespace().unwrap(), "apps");
        assert_eq!(line.words, ["ks"]);
    }

    #[test]
    fn words_of_kinds_come_before_names() {
        let after = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            Kind::words_after(&words)
        };
        let first = after(&[]);
        for word in ["kustomizations", "source", "all"] {
            assert!(first.iter().any(|known| known == word), "{word}: {first:?}");
        }
        assert!(!first.iter().any(|word| word == "git"), "{first:?}");
        let sources = after(&["source"]);
        assert!(
            sources.iter().any(|word| word == "git") && !sources.iter().any(|word| word == "kustomizations"),
            "{sources:?}"
        );
        assert_eq!(after(&["nonsense"]), [""; 0]);
    }
}
