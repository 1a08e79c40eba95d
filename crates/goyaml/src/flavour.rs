/// Which Go library's reading rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// `sigs.k8s.io/yaml` (over yaml.v2): YAML 1.1 booleans, even as keys; of equal keys the last wins;
    /// keys and `<<` are applied in document order, so a later `<<` overrides earlier keys.
    Sigs,
    /// `sigs.k8s.io/yaml` in its strict mode: as [`Flavour::Sigs`], but a key that occurs twice, also by
    /// way of `<<`, is an error.
    SigsStrict,
    /// kyaml and `go.yaml.in/yaml/v3`: only `true` and `false` are booleans; a key that occurs twice is an
    /// error; explicit keys win over `<<`.
    Kyaml,
}

impl Flavour {
    /// Whether this is one of the two `sigs.k8s.io/yaml` flavours.
    #[must_use]
    pub fn is_sigs(self) -> bool {
        matches!(self, Self::Sigs | Self::SigsStrict)
    }
}

/// Bounds on what a reader accepts. Exceeding one is an [`Error`](crate::Error) of kind
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest input in bytes.
    pub bytes: usize,
    /// Deepest nesting of sequences and mappings.
    pub depth: usize,
    /// Most nodes in all documents together, counted after aliases and merge keys have been expanded: the
    /// guard against documents that grow exponentially.
    pub nodes: usize,
    /// Most bytes of scalar text in all documents together, counted after expansion.
    pub text: usize,
}

impl Default for Limits {
    /// 32 MiB of input, 256 levels, four million nodes and 256 MiB of text after expansion.
    fn default() -> Self {
        Self {
            bytes: 32 << 20,
            depth: 256,
            nodes: 4_000_000,
            text: 256 << 20,
        }
    }
}
