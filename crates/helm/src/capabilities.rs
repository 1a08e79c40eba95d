//! What a chart may ask about the cluster.

/// Helm's own version, as charts see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelmVersion {
    /// `v4.2`.
    pub version: String,
    /// Empty, as in a Helm that was built as a library.
    pub git_commit: String,
    /// Likewise.
    pub git_tree_state: String,
    /// The version of the Go compiler; a chart may print it.
    pub go_version: String,
    /// `v1.36`.
    pub kube_client_version: String,
}

impl Default for HelmVersion {
    fn default() -> Self {
        Self {
            version: "v4.2".to_owned(),
            git_commit: String::new(),
            git_tree_state: String::new(),
            go_version: "go1.26.8".to_owned(),
            kube_client_version: "v1.36".to_owned(),
        }
    }
}

/// A version of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeVersion {
    /// As the server or the user says it: `v1.33.4-gke.1245000`.
    pub version: String,
    /// The first number.
    pub major: String,
    /// The second number.
    pub minor: String,
    /// What `kubeVersion` of a chart is compared with: without suffix if the user gave the version, with it
    /// if the server did.
    pub(crate) compared: String,
}

/// A text is no version of Kubernetes. The texts are those of Kubernetes' library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubeVersionError {
    /// It does not begin as a version.
    #[error("could not parse {} as version", crate::text::quoted(.0))]
    NoVersion(String),
    /// It has a single number.
    #[error("illegal version string {}", crate::text::quoted(.0))]
    TooShort(String),
    /// The first number begins with zero.
    #[error("illegal zero-prefixed version component {} in {}", crate::text::quoted(.0), crate::text::quoted(.1))]
    ZeroPrefixed(String, String),
    /// A number is too large.
    #[error("illegal non-numeric version component {number} in {}: strconv.ParseUint: parsing {number}: value out of range", crate::text::quoted(.text))]
    OutOfRange {
        /// The number, quoted.
        number: String,
        /// The whole text.
        text: String,
    },
}

impl KubeVersion {
    /// A version that a user gives: a leading `v` may be missing, and what follows the numbers does not
    /// count in comparisons.
    ///
    /// # Errors
    /// If it is no version.
    pub fn parse(text: &str) -> Result<Self, KubeVersionError> {
        let trimmed = text.trim_start();
        let digits = trimmed.strip_prefix('v').unwrap_or(trimmed);
        if !digits.starts_with(|first: char| first.is_ascii_digit()) || text.contains('\n') {
            return Err(KubeVersionError::NoVersion(text.to_owned()));
        }
        let mut numbers = Vec::new();
        let mut rest = digits;
        loop {
            let end = rest
                .find(|character: char| !character.is_ascii_digit())
                .unwrap_or(rest.len());
            numbers.push(&rest[..end]);
            let after = rest[end..].strip_prefix('.');
            match after {
                Some(after) if after.starts_with(|first: char| first.is_ascii_digit()) => rest = after,
                _ => break,
            }
        }
        if numbers.len() < 2 {
            return Err(KubeVersionError::TooShort(text.to_owned()));
        }
        if let Some(first) = numbers
            .first()
            .filter(|first| first.len() > 1 && first.starts_with('0'))
        {
            return Err(KubeVersionError::ZeroPrefixed(
                (*first).to_owned(),
                text.to_owned(),
            ));
        }
        let mut parsed: Vec<u64> = Vec::new();
        for number in &numbers {
            parsed.push(number.parse().map_err(|_| KubeVersionError::OutOfRange {
                number: crate::text::quoted(number),
                text: text.to_owned(),
            })?);
        }
        let joined: Vec<String> = parsed.iter().map(u64::to_string).collect();
        Ok(Self {
            version: if text.starts_with('v') {
                text.to_owned()
            } else {
                format!("v{text}")
            },
            major: joined.first().cloned().unwrap_or_default(),
            minor: joined.get(1).cloned().unwrap_or_default(),
            compared: format!("v{}", joined.join(".")),
        })
    }

    /// The version that a server reports (`gitVersion`, `major` and `minor` of `/version`), taken as it is.
    pub fn of_server(git_version: &str, major: &str, minor: &str) -> Self {
        Self {
            version: git_version.to_owned(),
            major: major.to_owned(),
            minor: minor.to_owned(),
            compared: git_version.to_owned(),
        }
    }
}

/// What a cluster can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Its version.
    pub kube_version: KubeVersion,
    /// `group/version`, and `group/version/Kind` if the cluster was asked.
    pub api_versions: Vec<String>,
    /// Helm's version.
    pub helm_version: HelmVersion,
}

impl Default for Capabilities {
    /// What Helm assumes without a cluster: Kubernetes 1.36 and the groups that its client library knows.
    fn default() -> Self {
        Self {
            kube_version: KubeVersion::of_server("v1.36.0", "1", "36"),
            api_versions: KNOWN_VERSIONS.iter().map(|&version| version.to_owned()).collect(),
            helm_version: HelmVersion::default(),
        }
    }
}

/// Groups and versions of the client library that Helm 4.2.4 is built with.
const KNOWN_VERSIONS: [&str; 55] = [
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
    "apiextensions.k8s.io/v1beta1",
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1",
    "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1",
    "authorization.k8s.io/v1beta1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "batch/v1beta1",
    "certificates.k8s.io/v1",
    "certificates.k8s.io/v1alpha1",
    "certificates.k8s.io/v1beta1",
    "coordination.k8s.io/v1",
    "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1",
    "discovery.k8s.io/v1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "internal.apiserver.k8s.io/v1alpha1",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1",
    "rbac.authorization.k8s.io/v1alpha1",
    "rbac.authorization.k8s.io/v1beta1",
    "resource.k8s.io/v1",
    "resource.k8s.io/v1alpha3",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1beta2",
    "scheduling.k8s.io/v1",
    "scheduling.k8s.io/v1alpha2",
    "scheduling.k8s.io/v1beta1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1",
    "storage.k8s.io/v1beta1",
    "storagemigration.k8s.io/v1beta1",
    "v1",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_of_a_given_version_do_not_count_in_comparisons() {
        let version = KubeVersion::parse("1.33.4-gke.1245000").unwrap();
        assert_eq!(version.version, "v1.33.4-gke.1245000");
        assert_eq!(version.compared, "v1.33.4");
        assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "33"));
        assert_eq!(KubeVersion::parse("v1.30").unwrap().compared, "v1.30");
        assert_eq!(
            KubeVersion::parse("x").unwrap_err().to_string(),
            "could not parse \"x\" as version"
        );
        assert_eq!(
            KubeVersion::parse("1").unwrap_err().to_string(),
            "illegal version string \"1\""
        );
    }
}
