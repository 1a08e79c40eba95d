//! The terminal: results on standard output, progress and complaints on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::error::CommandError;

/// Where the command line talks. Standard output carries results only, so that it can be piped.
#[derive(Debug)]
pub(crate) struct Console {
    interactive: bool,
    colours: bool,
}

/// How a line of a result stands out on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    /// Something is made.
    Green,
    /// Something is left as it is.
    Yellow,
    /// Something goes.
    Red,
    /// A headline.
    Bold,
}

/// A running line that tells what is waited for; it vanishes when dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
}

impl Console {
    /// Looks at the streams of this process.
    pub(crate) fn new() -> Self {
        Self {
            interactive: std::io::stderr().is_terminal(),
            colours: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        }
    }

    /// Prints a result to standard output. A reader that has gone away is no failure.
    #[expect(clippy::unused_self, reason = "all output passes the console")]
    pub(crate) fn result(&self, text: &str) {
        let mut output = std::io::stdout().lock();
        let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    }

    /// Tells that something begins.
    pub(crate) fn action(&self, text: &str) {
        self.line("►", text);
    }

    /// Tells that something is waited for.
    pub(crate) fn waiting(&self, text: &str) {
        self.line("◎", text);
    }

    /// Tells that something was done.
    pub(crate) fn success(&self, text: &str) {
        self.line("✔", text);
    }

    /// Tells that something was made.
    pub(crate) fn generated(&self, text: &str) {
        self.line("✚", text);
    }

    /// Tells of something that is not right but does not end the command.
    pub(crate) fn warning(&self, text: &str) {
        self.line("⚠", text);
    }

    /// Tells that a check failed.
    pub(crate) fn failed(&self, text: &str) {
        self.line("✗", text);
    }

    /// Tells why the command ends, and what to do next.
    pub(crate) fn failure(&self, error: &CommandError) {
        self.line("✗", &error.to_string());
        if let Some(hint) = error.hint() {
            self.line(" ", hint);
        }
    }

    #[expect(clippy::unused_self, reason = "all output passes the console")]
    fn line(&self, symbol: &str, text: &str) {
        let mut output = std::io::stderr().lock();
        let _ = writeln!(output, "{symbol} {text}");
    }

    /// The text in a colour, if standard output is a terminal and nobody objects.
    pub(crate) fn paint(&self, colour: Colour, text: &str) -> String {
        if !self.colours {
            return text.to_owned();
        }
        let code = match colour {
            Colour::Green => 32,
            Colour::Yellow => 33,
            Colour::Red => 31,
            Colour::Bold => 1,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// As [`Console::progress`], but prints nothing where there is no terminal.
    pub(crate) fn quiet_progress(&self, text: &str) -> Progress {
        if self.interactive {
            self.progress(text)
        } else {
            Progress::none()
        }
    }

    /// Shows what is waited for on a terminal; elsewhere prints it once.
    pub(crate) fn progress(&self, text: &str) -> Progress {
        if !self.interactive {
            self.waiting(text);
            return Progress { bar: None };
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.set_message(text.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress { bar: Some(bar) }
    }
}

impl Progress {
    /// No line at all.
    pub(crate) fn none() -> Self {
        Self { bar: None }
    }

    /// Changes the text.
    pub(crate) fn update(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
