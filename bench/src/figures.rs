//! What is measured, and how several runs become one.

use std::collections::BTreeMap;

/// One of the two controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// source-controller.
    Source,
    /// kustomize-controller.
    Kustomize,
}

impl Role {
    /// Both, in the order in which they are started.
    pub(crate) const ALL: [Self; 2] = [Self::Source, Self::Kustomize];

    /// The program's name, which also begins its user agent.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Source => "source-controller",
            Self::Kustomize => "kustomize-controller",
        }
    }
}

/// Something that is measured. The order is the report's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Metric {
    /// The machine's load average when the run began: how noisy it is.
    LoadBefore,
    /// Seconds from the creation of the source until it is Ready.
    SourceReady,
    /// Seconds from the creation of the first Kustomization until all are Ready.
    AllReady,
    /// Seconds from the creation of one Kustomization until it is Ready, when nothing else is to be done: the
    /// median of several.
    OneAlone,
    /// The same while others wait in vain for the health of their objects.
    OneBeside,
    /// Seconds from asking all Kustomizations to reconcile until all have, nothing having changed.
    UnchangedReady,
    /// Something about one controller.
    Of(Role, OfController),
}

/// Something that is measured of each controller. The order is the report's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OfController {
    /// Seconds of CPU while the work was done: from the first object's creation until all are Ready, or while
    /// idling.
    Cpu,
    /// `VmRSS` at the end of the settling time, in MiB.
    Resident,
    /// `RssAnon` at the end of the settling time, in MiB.
    Anonymous,
    /// `VmHWM` at the end of the settling time, in MiB.
    Peak,
    /// Requests to the API server from the controller's start to the end of the settling time.
    AllRequests,
    /// The same, of one verb.
    Requests(String),
    /// Requests to the API server when every Kustomization is reconciled with nothing changed.
    AllUnchanged,
    /// The same, by verb and resource.
    Unchanged(String),
}

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A pure number.
    Number,
    /// Seconds.
    Seconds,
    /// MiB.
    Mebibytes,
    /// Requests.
    Count,
}

impl Metric {
    /// Its unit.
    pub(crate) fn unit(&self) -> Unit {
        match self {
            Self::LoadBefore => Unit::Number,
            Self::SourceReady | Self::AllReady | Self::OneAlone | Self::OneBeside | Self::UnchangedReady => {
                Unit::Seconds
            }
            Self::Of(_, of) => match of {
                OfController::Cpu => Unit::Seconds,
                OfController::Resident | OfController::Anonymous | OfController::Peak => Unit::Mebibytes,
                _ => Unit::Count,
            },
        }
    }

    /// How it is called, within its controller's section if it has one.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::LoadBefore => "load average before".to_owned(),
            Self::SourceReady => "time to source Ready".to_owned(),
            Self::AllReady => "time to all Ready".to_owned(),
            Self::OneAlone => "time to one Ready, alone".to_owned(),
            Self::OneBeside => "time to one Ready, beside the others".to_owned(),
            Self::UnchangedReady => "time to all unchanged Ready".to_owned(),
            Self::Of(_, of) => match of {
                OfController::Cpu => "CPU".to_owned(),
                OfController::Resident => "VmRSS".to_owned(),
                OfController::Anonymous => "RssAnon".to_owned(),
                OfController::Peak => "VmHWM (peak)".to_owned(),
                OfController::AllRequests => "requests".to_owned(),
                OfController::Requests(verb) => format!("  {verb}"),
                OfController::AllUnchanged => "requests, nothing changed".to_owned(),
                OfController::Unchanged(label) => format!("  {label}"),
            },
        }
    }

    /// The controller that it is about, if it is about one.
    pub(crate) fn role(&self) -> Option<Role> {
        match self {
            Self::Of(role, _) => Some(*role),
            _ => None,
        }
    }

    /// Its key in JSON.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::LoadBefore => "loadBefore".to_owned(),
            Self::SourceReady => "sourceReadySeconds".to_owned(),
            Self::AllReady => "allReadySeconds".to_owned(),
            Self::OneAlone => "oneAloneSeconds".to_owned(),
            Self::OneBeside => "oneBesideSeconds".to_owned(),
            Self::UnchangedReady => "unchangedReadySeconds".to_owned(),
            Self::Of(role, of) => {
                let of = match of {
                    OfController::Cpu => "cpuSeconds".to_owned(),
                    OfController::Resident => "vmRssMiB".to_owned(),
                    OfController::Anonymous => "rssAnonMiB".to_owned(),
                    OfController::Peak => "vmHwmMiB".to_owned(),
                    OfController::AllRequests => "requests".to_owned(),
                    OfController::Requests(verb) => format!("requests/{verb}"),
                    OfController::AllUnchanged => "unchangedRequests".to_owned(),
                    OfController::Unchanged(label) => format!("unchangedRequests/{label}"),
                };
                format!("{}/{of}", role.program())
            }
        }
    }
}

/// The measured values of one run, or the medians of several.
pub(crate) type Figures = BTreeMap<Metric, f64>;

/// The median of every metric. A count that a run does not have was zero there: no request of that kind was
/// made.
pub(crate) fn medians(runs: &[Figures]) -> Figures {
    let metrics = runs.iter().flat_map(BTreeMap::keys);
    let median_of = |metric: &Metric| {
        let values = runs
            .iter()
            .map(|run| run.get(metric).copied().unwrap_or_default());
        (metric.clone(), median(values.collect()))
    };
    metrics.map(median_of).collect()
}

/// The value in the middle, or the mean of the two around it; zero of nothing.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.len(), values.get(middle)) {
        (_, None) => 0.0,
        (length, Some(upper)) if length % 2 == 1 => *upper,
        (_, Some(upper)) => f64::midpoint(values[middle - 1], *upper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_whatever_the_order() {
        assert_eq!(median(vec![]), 0.0);
        assert_eq!(median(vec![7.0]), 7.0);
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 100.0]), 3.0);
    }

    #[test]
    fn requests_that_most_runs_do_not_make_have_median_zero() {
        let rare = Metric::Of(Role::Source, OfController::Requests("delete".to_owned()));
        let run = |values: &[(Metric, f64)]| values.iter().cloned().collect::<Figures>();
        let runs = [
            run(&[(Metric::AllReady, 3.0), (rare.clone(), 5.0)]),
            run(&[(Metric::AllReady, 1.0)]),
            run(&[(Metric::AllReady, 2.0)]),
        ];
        assert_eq!(medians(&runs), run(&[(Metric::AllReady, 2.0), (rare, 0.0)]));
    }

    #[test]
    fn metrics_stand_in_the_order_of_the_report() {
        let of = |role, of| Metric::Of(role, of);
        let mut metrics = [
            of(Role::Kustomize, OfController::Cpu),
            of(Role::Source, OfController::Requests("get".to_owned())),
            of(Role::Source, OfController::Resident),
            Metric::AllReady,
        ];
        metrics.sort();
        assert_eq!(
            metrics.map(|metric| metric.label()),
            ["time to all Ready", "VmRSS", "  get", "CPU"]
        );
    }
}
