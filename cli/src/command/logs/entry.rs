//! One line of a controller's log.

use serde::Deserialize;

/// Which lines are shown.
#[derive(Debug, clap::Args)]
pub(super) struct Filter {
    /// Only lines of this level
    #[arg(long, value_parser = ["debug", "info", "error"])]
    level: Option<String>,
    /// Only lines about objects of this kind
    #[arg(long)]
    kind: Option<String>,
    /// Only lines about the object of this name
    #[arg(long)]
    name: Option<String>,
    /// Lines about objects of all namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    ts: String,
    level: String,
    msg: String,
    error: String,
    #[serde(rename = "reconciler kind")]
    kind: String,
    #[serde(rename = "controllerKind")]
    controller_kind: String,
    name: String,
    namespace: String,
}

impl Filter {
    /// The line as a person reads it, if it is to be shown; what is no JSON is not.
    pub(super) fn show(&self, line: &str, namespace: &str) -> Option<String> {
        let entry: Entry = serde_json::from_str(line).ok()?;
        let is_wanted = |wanted: &Option<String>, texts: &[&String]| {
            wanted
                .as_ref()
                .is_none_or(|wanted| texts.iter().any(|text| text.eq_ignore_ascii_case(wanted)))
        };
        let shown = is_wanted(&self.level, &[&entry.level])
            && is_wanted(&self.kind, &[&entry.kind, &entry.controller_kind])
            && is_wanted(&self.name, &[&entry.name])
            && (self.all_namespaces || entry.namespace.eq_ignore_ascii_case(namespace));
        shown.then(|| entry.describe())
    }
}

impl Entry {
    fn describe(&self) -> String {
        let kind = if self.kind.is_empty() {
            &self.controller_kind
        } else {
            &self.kind
        };
        let object = if self.name.is_empty() {
            kind.clone()
        } else {
            format!("{kind}/{}.{}", self.name, self.namespace)
        };
        format!(
            "{} {} {object} - {} {}\n",
            self.ts, self.level, self.msg, self.error
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"level":"error","ts":"2026-01-02T03:04:05.678Z","msg":"Reconciler error","controller":"kustomization","controllerGroup":"kustomize.toolkit.fluxcd.io","controllerKind":"Kustomization","Kustomization":{"name":"apps","namespace":"shop"},"namespace":"shop","name":"apps","error":"no such path"}"#;

    fn filter(flags: &[&str]) -> Filter {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            filter: Filter,
        }
        <Line as clap::Parser>::parse_from([&["logs"], flags].concat()).filter
    }

    /// CLI-016
    #[test]
    fn lines_are_chosen_by_level_kind_name_and_namespace() {
        let shown =
            "2026-01-02T03:04:05.678Z error Kustomization/apps.shop - Reconciler error no such path\n";
        for flags in [
            &[][..],
            &["--level=error"],
            &["--kind=kustomization", "--name=APPS"],
        ] {
            assert_eq!(
                filter(flags).show(LINE, "shop").as_deref(),
                Some(shown),
                "{flags:?}"
            );
        }
        assert_eq!(filter(&["-A"]).show(LINE, "elsewhere").as_deref(), Some(shown));
        for flags in [
            &["--level=info"][..],
            &["--kind=GitRepository"],
            &["--name=other"],
        ] {
            assert_eq!(filter(flags).show(LINE, "shop"), None, "{flags:?}");
        }
        assert_eq!(filter(&[]).show(LINE, "elsewhere"), None);
        assert_eq!(filter(&["-A"]).show("plain text", "shop"), None);
        let plain = r#"{"level":"info","ts":"T","msg":"starting manager"}"#;
        assert_eq!(
            filter(&["-A"]).show(plain, "shop").as_deref(),
            Some("T info  - starting manager \n")
        );
    }
}
