use std::fmt;

/// What kind of problem a build ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or directory is missing, unreadable or not what was expected.
    File,
    /// A file lies where the load restrictions do not let this kustomization read.
    Restricted,
    /// A directory refers to itself or to one that contains it.
    Cycle,
    /// A remote file or base: forbidden, or it could not be fetched.
    Remote,
    /// A text is not YAML.
    Yaml,
    /// A kustomization file is missing, doubled, or says something that is not understood.
    Kustomization,
    /// A file does not hold Kubernetes objects.
    Resource,
    /// Two objects have the same kind, name and namespace.
    DuplicateId,
    /// Something refers to an object that is not there, or to several at once.
    Reference,
    /// A patch is malformed or does not apply.
    Patch,
    /// A generator is malformed or cannot produce its object.
    Generator,
    /// A transformer cannot do what its configuration asks.
    Transformer,
    /// A replacement has no source, no target, or a wrong path.
    Replacement,
    /// A variable is ambiguous, unknown or of the wrong kind.
    Variable,
    /// The custom OpenAPI schema is malformed or conflicts with another setting.
    Schema,
    /// A plugin that is not built in, or Helm charts, which builds refuse to run.
    Plugin,
    /// One of the [`Limits`](crate::Limits) was exceeded.
    Limit,
}

/// Why a build failed: what happened, where (file, line, field) and what to do.
///
/// Displays as `FILE:LINE: FIELD: problem; remedy`, without the parts that are not known, followed by the
/// chain of kustomizations that led there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Details>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Details {
    kind: ErrorKind,
    file: Option<String>,
    line: Option<u32>,
    field: Option<String>,
    problem: String,
    remedy: String,
    /// Innermost first.
    trail: Vec<String>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, problem: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            file: None,
            line: None,
            field: None,
            problem: problem.into(),
            remedy: String::new(),
            trail: Vec::new(),
        }))
    }

    /// Sets the remedy, unless a more specific one is known.
    #[must_use]
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        if self.0.remedy.is_empty() {
            self.0.remedy = remedy.into();
        }
        self
    }

    /// Sets the file, unless the error already names one.
    #[must_use]
    pub(crate) fn in_file(mut self, file: impl Into<String>) -> Self {
        if self.0.file.is_none() {
            self.0.file = Some(file.into());
        }
        self
    }

    /// Sets the line, unless it is known or 0.
    #[must_use]
    pub(crate) fn at_line(mut self, line: u32) -> Self {
        if self.0.line.is_none() && line > 0 {
            self.0.line = Some(line);
        }
        self
    }

    /// Sets the field, unless it is known.
    #[must_use]
    pub(crate) fn at_field(mut self, field: impl Into<String>) -> Self {
        if self.0.field.is_none() {
            self.0.field = Some(field.into());
        }
        self
    }

    /// Adds what was going on around the error.
    #[must_use]
    pub(crate) fn while_doing(mut self, what: impl Into<String>) -> Self {
        self.0.trail.push(what.into());
        self
    }

    /// What kind of problem it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file that holds the mistake, relative to the root of the file system, or its address.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The line in the file, from 1.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.0.line
    }

    /// The field, such as `patches[2].target.name`.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// What happened, without place and remedy.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// What to do; empty if nothing can be said.
    #[must_use]
    pub fn remedy_text(&self) -> &str {
        &self.0.remedy
    }

    pub(crate) fn from_yaml(error: &sluice_goyaml::Error) -> Self {
        let kind = if error.kind() == sluice_goyaml::ErrorKind::Limit {
            ErrorKind::Limit
        } else {
            ErrorKind::Yaml
        };
        Self::new(kind, error.problem())
            .at_line(error.line().unwrap_or(0))
            .remedy(error.remedy())
    }

    /// Names the kustomization file, and what helps against the kind of problem, where nothing better is known.
    #[must_use]
    pub(crate) fn complete(self, file: &str) -> Self {
        let remedy = match self.kind() {
            ErrorKind::File => "check the path, or add the file",
            ErrorKind::Restricted => "refer only to files of the same directory",
            ErrorKind::Cycle => "remove the reference",
            ErrorKind::Remote => "check the address, and whether its host can be reached without credentials",
            ErrorKind::Yaml => "correct the text at that place",
            ErrorKind::Kustomization => "correct the kustomization file",
            ErrorKind::Resource => "correct the object in its file",
            ErrorKind::DuplicateId => "remove one of the objects, or give them different names",
            ErrorKind::Reference => "correct the name, or add the object",
            ErrorKind::Patch => "correct the patch, or the object that it is for",
            ErrorKind::Generator => "correct the generator, or the file that it reads",
            ErrorKind::Transformer => {
                "correct the field of the object, or the configuration of the transformer"
            }
            ErrorKind::Replacement => "correct the replacement",
            ErrorKind::Variable => "correct the variable, or use replacements",
            ErrorKind::Schema => "correct the OpenAPI document",
            ErrorKind::Plugin => "use what is built in",
            ErrorKind::Limit => "split the kustomization",
        };
        self.remedy(remedy).in_file(file)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details = &self.0;
        match (&details.file, details.line) {
            (Some(file), Some(line)) => write!(formatter, "{file}:{line}: ")?,
            (Some(file), None) => write!(formatter, "{file}: ")?,
            (None, Some(line)) => write!(formatter, "line {line}: ")?,
            (None, None) => {}
        }
        if let Some(field) = &details.field {
            write!(formatter, "{field}: ")?;
        }
        formatter.write_str(&details.problem)?;
        if !details.remedy.is_empty() {
            write!(formatter, "; {}", details.remedy)?;
        }
        for what in &details.trail {
            write!(formatter, " ({what})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// The result of a step of a build.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;
