//! Log lines in the format of Flux's controllers: one JSON object per line, or text for people.
//!
//! The keys are `level`, `ts`, `msg`, then those of the reconcile's span (`controller`, `controllerGroup`, `controllerKind`, the object
//! under its kind's name, `namespace`, `name`, `reconcileID`), then those of the line, with `error` among them. A line is about a
//! reconcile if it is logged within its span.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::str::FromStr;

use k8s_openapi::jiff;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Record};
use tracing::{Event, Id, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// One JSON object per line.
    #[default]
    Json,
    /// Tab-separated text.
    Console,
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "json" => Ok(Self::Json),
            "console" => Ok(Self::Console),
            other => Err(format!("'{other}' is no log encoding: use json or console")),
        }
    }
}

/// The least important lines that are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Everything.
    Trace,
    /// Details of what happens.
    Debug,
    /// What happens.
    #[default]
    Info,
    /// Only what goes wrong.
    Error,
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "trace" => Ok(Self::Trace),
            "debug" => Ok(Self::Debug),
            "info" => Ok(Self::Info),
            "error" => Ok(Self::Error),
            other => Err(format!(
                "'{other}' is no log level: use trace, debug, info or error"
            )),
        }
    }
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::Trace => Self::TRACE,
            Level::Debug => Self::DEBUG,
            Level::Info => Self::INFO,
            Level::Error => Self::ERROR,
        }
    }
}

/// How the process logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// `--log-encoding`.
    pub encoding: Encoding,
    /// `--log-level`.
    pub level: Level,
}

/// Starts logging to standard error. A second call has no effect.
pub fn initialize(options: LogOptions) {
    let subscriber = tracing_subscriber::registry().with(layer(options, Stderr));
    // An error means that logging has been started already.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Where finished lines go.
pub(crate) trait Sink: Send + Sync + 'static {
    /// Takes one line, which ends in a newline.
    fn write(&self, line: &str);
}

struct Stderr;

impl Sink for Stderr {
    fn write(&self, line: &str) {
        // Nothing can be reported if not even this works.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

pub(crate) fn layer<S>(options: LogOptions, sink: impl Sink) -> impl Layer<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let filter =
        tracing_subscriber::filter::dynamic_filter_fn(move |metadata, _| admits(options.level, metadata))
            .with_max_level_hint(LevelFilter::from(options.level));
    LineLayer {
        encoding: options.encoding,
        sink,
    }
    .with_filter(filter)
}

/// Libraries are heard only when they report errors, or when everything is.
fn admits(level: Level, metadata: &Metadata<'_>) -> bool {
    let ours = metadata.target().starts_with("sluice")
        || metadata.target().ends_with("_controller")
        || metadata.target().contains("_controller::");
    let limit = if ours || level == Level::Trace {
        LevelFilter::from(level)
    } else {
        LevelFilter::ERROR
    };
    *metadata.level() <= limit
}

struct LineLayer<W> {
    encoding: Encoding,
    sink: W,
}

/// The fields of a span, kept with it.
#[derive(Default)]
struct SpanFields(Map<String, Value>);

impl<S, W> Layer<S> for LineLayer<W>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: Sink,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = SpanFields::default();
            attributes.record(&mut FieldVisitor(&mut fields.0));
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<SpanFields>()
        {
            values.record(&mut FieldVisitor(&mut fields.0));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Map::new();
        let mut logger = String::new();
        for span in context
            .event_scope(event)
            .into_iter()
            .flat_map(tracing_subscriber::registry::Scope::from_root)
        {
            if let Some(known) = span.extensions().get::<SpanFields>() {
                fields.extend(known.0.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
        }
        let mut own = Map::new();
        event.record(&mut FieldVisitor(&mut own));
        if let Some(Value::String(name)) = own.remove("logger").or_else(|| fields.remove("logger")) {
            logger = name;
        }
        let message = match own.remove("message") {
            Some(Value::String(message)) => message,
            Some(other) => other.to_string(),
            None => String::new(),
        };
        fields.extend(own);
        let line = Line {
            level: level_name(*event.metadata().level()),
            logger,
            message,
            fields,
        };
        let text = match self.encoding {
            Encoding::Json => line.json(jiff::Timestamp::now()),
            Encoding::Console => line.console(jiff::Timestamp::now()),
        };
        self.sink.write(&text);
    }
}

/// Flux knows no warnings.
fn level_name(level: tracing::Level) -> &'static str {
    match level {
        tracing::Level::ERROR => "error",
        tracing::Level::WARN | tracing::Level::INFO => "info",
        tracing::Level::DEBUG => "debug",
        tracing::Level::TRACE => "trace",
    }
}

struct Line {
    level: &'static str,
    logger: String,
    message: String,
    fields: Map<String, Value>,
}

impl Line {
    fn json(mut self, at: jiff::Timestamp) -> String {
        let mut line = format!("{{\"level\":\"{}\",\"ts\":\"{}\"", self.level, timestamp(at));
        if !self.logger.is_empty() {
            push(&mut line, "logger", &json!(self.logger));
        }
        push(&mut line, "msg", &json!(self.message));
        // The order in which controller-runtime writes them.
        for key in ["controller", "controllerGroup", "controllerKind"] {
            if let Some(value) = self.fields.remove(key) {
                push(&mut line, key, &value);
                if key == "controllerKind"
                    && let (Some(kind), Some(name)) = (value.as_str(), self.fields.get("name"))
                {
                    let namespace = self.fields.get("namespace").cloned().unwrap_or_default();
                    push(&mut line, kind, &json!({ "name": name, "namespace": namespace }));
                }
            }
        }
        for key in ["namespace", "name", "reconcileID"] {
            if let Some(value) = self.fields.remove(key) {
                push(&mut line, key, &value);
            }
        }
        let error = self.fields.remove("error");
        for (key, value) in &self.fields {
            push(&mut line, key, value);
        }
        if let Some(error) = error {
            push(&mut line, "error", &error);
        }
        line.push_str("}\n");
        line
    }

    fn console(self, at: jiff::Timestamp) -> String {
        let mut line = format!("{}\t{}", timestamp(at), self.level.to_uppercase());
        if !self.logger.is_empty() {
            let _ = write!(line, "\t{}", self.logger);
        }
        let _ = write!(line, "\t{}", self.message);
        if !self.fields.is_empty() {
            let _ = write!(line, "\t{}", Value::Object(self.fields));
        }
        line.push('\n');
        line
    }
}

fn push(line: &mut String, key: &str, value: &Value) {
    let _ = write!(line, ",{}:{value}", Value::from(key));
}

/// ISO 8601 with milliseconds, as the Go logger writes it.
fn timestamp(at: jiff::Timestamp) -> String {
    format!("{at:.3}")
}

struct FieldVisitor<'a>(&'a mut Map<String, Value>);

impl Visit for FieldVisitor<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.0.insert(field.name().to_owned(), json!(value.to_string()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0
            .insert(field.name().to_owned(), json!(format!("{value:?}")));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<String>>);

    impl Sink for Memory {
        fn write(&self, line: &str) {
            self.0.lock().unwrap().push_str(line);
        }
    }

    fn logged(options: LogOptions, work: impl FnOnce()) -> Vec<String> {
        let memory = Memory::default();
        let subscriber = tracing_subscriber::registry().with(layer(options, memory.clone()));
        tracing::subscriber::with_default(subscriber, work);
        let text = memory.0.lock().unwrap().clone();
        text.lines().map(str::to_owned).collect()
    }

    fn in_reconcile(work: impl FnOnce()) {
        let span = tracing::info_span!(
            "reconcile",
            controller = "kustomization",
            controllerGroup = "kustomize.toolkit.fluxcd.io",
            controllerKind = "Kustomization",
            namespace = "flux-system",
            name = "apps",
            reconcileID = "1-2-3",
        );
        span.in_scope(work);
    }

    /// The line without its time, which is checked for its form.
    fn without_time(line: &str) -> String {
        let (before, rest) = line.split_once("\"ts\":\"").unwrap();
        let (time, after) = rest.split_once('"').unwrap();
        assert_eq!(time.len(), "2026-05-01T12:00:00.000Z".len(), "{time}");
        assert!(time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
        format!("{before}\"ts\":\"T\"{after}")
    }

    #[test]
    fn lines_of_a_reconcile_have_the_keys_that_flux_writes() {
        // COM-017
        let lines = logged(LogOptions::default(), || {
            in_reconcile(|| {
                tracing::error!(
                    error = "no such file",
                    revision = "main@sha1:1",
                    object = None::<&str>,
                    "Reconciliation \"failed\""
                );
            });
        });
        let expected = "{\"level\":\"error\",\"ts\":\"T\",\"msg\":\"Reconciliation \\\"failed\\\"\",\
            \"controller\":\"kustomization\",\"controllerGroup\":\"kustomize.toolkit.fluxcd.io\",\
            \"controllerKind\":\"Kustomization\",\"Kustomization\":{\"name\":\"apps\",\"namespace\":\"flux-system\"},\
            \"namespace\":\"flux-system\",\"name\":\"apps\",\"reconcileID\":\"1-2-3\",\"revision\":\"main@sha1:1\",\
            \"error\":\"no such file\"}";
        assert_eq!(without_time(&lines[0]), expected);
        serde_json::from_str::<Value>(&lines[0]).unwrap();
    }

    #[test]
    fn levels_decide_what_is_written() {
        // COM-018
        let work = || {
            tracing::trace!("t");
            tracing::debug!("d");
            tracing::info!("i");
            tracing::error!("e");
        };
        for (level, expected) in [
            (Level::Trace, "tdie"),
            (Level::Debug, "die"),
            (Level::Info, "ie"),
            (Level::Error, "e"),
        ] {
            let lines = logged(
                LogOptions {
                    level,
                    ..LogOptions::default()
                },
                work,
            );
            let messages: String = lines
                .iter()
                .map(|line| {
                    serde_json::from_str::<Value>(line).unwrap()["msg"]
                        .as_str()
                        .unwrap()
                        .to_owned()
                })
                .collect();
            assert_eq!(messages, expected);
        }
    }

    #[test]
    fn libraries_are_heard_only_with_errors() {
        let lines = logged(
            LogOptions {
                level: Level::Debug,
                ..LogOptions::default()
            },
            || {
                tracing::debug!(target: "hyper::proto", "noise");
                tracing::error!(target: "hyper::proto", "trouble");
            },
        );
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("trouble"));
    }

    #[test]
    fn the_console_encoding_is_for_people() {
        let options = LogOptions {
            encoding: Encoding::Console,
            level: Level::Info,
        };
        let lines = logged(options, || {
            tracing::info!(logger = "setup", port = 8080, "starting");
        });
        let (_, rest) = lines[0].split_once('\t').unwrap();
        assert_eq!(rest, "INFO\tsetup\tstarting\t{\"port\":8080}");
    }
}
