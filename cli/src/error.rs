//! What the command line says when something goes wrong: what happened, and what to do next.

use std::fmt;

/// A failure with the next step for the person who reads it.
#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    hint: Option<String>,
}

/// The result of a command.
pub(crate) type Result<T, E = CommandError> = std::result::Result<T, E>;

impl CommandError {
    /// A failure that speaks for itself.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    /// Adds the next step.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to do next, if there is something to say.
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for CommandError {}

impl From<kube::Error> for CommandError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if is_unknown_kind(&status) => {
                Self::new("the cluster does not know this kind of object")
                    .with_hint("install the custom resources with: sluice install")
            }
            kube::Error::Api(status) => match status.code {
                401 => Self::new(format!("the API server does not know you: {}", status.message))
                    .with_hint("check the user of the kubeconfig, --user and --token"),
                403 => Self::new(format!("the API server refused: {}", status.message))
                    .with_hint("ask for the right to do this, or act as somebody else with --as"),
                _ => Self::new(status.message.clone()),
            },
            kube::Error::HyperError(_) | kube::Error::Service(_) => {
                Self::new(format!("the API server can't be reached: {}", describe(&error)))
                    .with_hint("check --kubeconfig, --context and the network")
            }
            other => Self::new(describe(&other)),
        }
    }
}

/// Whether a 404 says that the API server serves no such kind, instead of that there is no such object.
pub(crate) fn is_unknown_kind(status: &kube::core::Status) -> bool {
    let names_object = |details: &kube::core::response::StatusDetails| !details.name.is_empty();
    status.code == 404 && !status.details.as_ref().is_some_and(names_object)
}

/// The error and what caused it, in one line.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
