//! `sluice stats`: how many objects there are, how they do, and how much they store.

use futures::future::try_join_all;
use kube::api::ListParams;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::{Result, is_unknown_kind};
use crate::kind::{Kind, condition};
use crate::output::{Console, Format, Table, render};

/// The kinds, in the order in which `flux` lists them.
const KINDS: [&str; 13] = [
    "GitRepository",
    "OCIRepository",
    "HelmRepository",
    "HelmChart",
    "Bucket",
    "Kustomization",
    "HelmRelease",
    "Alert",
    "Provider",
    "Receiver",
    "ImageUpdateAutomation",
    "ImagePolicy",
    "ImageRepository",
];

/// Arguments of `sluice stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sluice stats -n apps\n  sluice stats -A -o json")]
pub(crate) struct Stats {
    /// Objects of all namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// Print JSON or YAML instead of a table
    #[arg(long, short = 'o', value_enum)]
    output: Option<Format>,
}

/// What the objects of a kind come to.
#[derive(Debug, Default, PartialEq, Eq, serde::Serialize)]
struct Count {
    kind: &'static str,
    running: usize,
    failing: usize,
    suspended: usize,
    storage: u64,
}

impl Stats {
    /// Prints a row for each kind; a kind that the cluster does not have counts as empty.
    ///
    /// # Errors
    /// The API server refuses, or can't be reached.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let kinds = KINDS.into_iter().filter_map(Kind::by_name);
        let counts = try_join_all(kinds.map(|kind| self.count(cluster, kind))).await?;
        if let Some(format) = self.output {
            console.result(&render(&counts, format)?);
            return Ok(());
        }
        let mut table = Table::new(&["reconcilers", "running", "failing", "suspended", "storage"]);
        for count in counts {
            table.push(vec![
                count.kind.to_owned(),
                count.running.to_string(),
                count.failing.to_string(),
                count.suspended.to_string(),
                size(count.storage),
            ]);
        }
        console.result(&table.render(true));
        Ok(())
    }

    async fn count(&self, cluster: &Cluster, kind: &'static Kind) -> Result<Count> {
        let objects = if self.all_namespaces {
            cluster.objects_everywhere(kind)
        } else {
            cluster.objects(kind)
        };
        let listed = match objects.list(&ListParams::default()).await {
            Ok(listed) => listed.items,
            Err(kube::Error::Api(status)) if is_unknown_kind(&status) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let objects: Vec<Value> = listed.into_iter().map(|object| kind.value(object)).collect();
        let number = |judge: &dyn Fn(&Value) -> bool| objects.iter().filter(|object| judge(object)).count();
        let suspended = number(&|object| object["spec"]["suspend"] == true);
        Ok(Count {
            kind: kind.kind,
            running: objects.len() - suspended,
            failing: number(&|object| {
                condition(object, "Ready").is_some_and(|ready| ready["status"] == "False")
            }),
            suspended,
            storage: objects
                .iter()
                .filter_map(|object| object["status"]["artifact"]["size"].as_u64())
                .sum(),
        })
    }
}

/// A number of bytes in units of 1024, `-` for none.
fn size(bytes: u64) -> String {
    if bytes == 0 {
        return "-".to_owned();
    }
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut units, mut unit) = (['K', 'M', 'G', 'T', 'P', 'E'].into_iter(), 'B');
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let mut value = bytes as f64;
    let mut whole = bytes;
    while whole >= 1024 {
        whole /= 1024;
        value /= 1024.0;
        unit = units.next().unwrap_or(unit);
    }
    format!("{value:.1} {unit}iB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_as_flux_tells_them() {
        let told: Vec<String> = [0, 1023, 1024, 1536, 1024 * 1024 - 1, 5 << 30]
            .into_iter()
            .map(size)
            .collect();
        assert_eq!(
            told,
            ["-", "1023 B", "1.0 KiB", "1.5 KiB", "1024.0 KiB", "5.0 GiB"]
        );
    }
}
