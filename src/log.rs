//! The log: lines on stderr, as text or JSON. It never blocks the program: lines that cannot be written are dropped. A panic is
//! logged as a line, without its message if that may contain text of a library.

mod output;

use std::any::Any;
use std::io::{self, IsTerminal};
use std::panic::{self, PanicHookInfo};

use tracing::{Subscriber, error};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::settings::{Log, LogFormat};

pub use output::{LogGuard, LostLines, lost_lines, report_lost_lines, run_bounded};

/// Starts the log of the whole process on stderr, which includes panics, until the guard is dropped.
///
/// # Errors
/// [`TryInitError`] when the process has a log already.
pub fn start(settings: &Log) -> Result<LogGuard, TryInitError> {
    let (queue, guard) = output::to_stderr();
    subscriber(settings, queue, io::stderr().is_terminal()).try_init()?;
    // The default hook prints the message of a panic, which may contain text of a library.
    panic::set_hook(Box::new(log_panic));
    Ok(guard)
}

/// Libraries that are silenced at every level, because they would log a user's text, the hosts of saved pages, what a client sends, or
/// the password of the database or the key of a Qdrant server, or would repeat a needless warning twice a minute.
const SILENCED: [&str; 11] = [
    "tokenizers=off",
    // It quotes invalid values of Content-Length and Transfer-Encoding.
    "actix_http::h1::decoder=warn",
    // These log the headers of requests, and so the key of a Qdrant server.
    "h2=warn",
    "tonic=warn",
    // These name the hosts of saved pages.
    "hyper_util=warn",
    "reqwest=warn",
    "rustls=warn",
    // The span of a connection attempt holds the URL of the database, which is printed with every line within it.
    "sea_orm::driver=warn",
    // It logs statements.
    "sqlx=warn",
    "html5ever=off",
    // It repeats a needless warning twice a minute.
    "qdrant_edge=error",
];

/// Filters out the lines of [`SILENCED`], whatever the setting enables.
fn silence_filter(requested: &EnvFilter) -> EnvFilter {
    // A separate filter: in one with the setting, a module of a library (`reqwest::connect=debug`) or everything within a span
    // (`[request]=trace`) would take precedence.
    // No lower than the setting, so that lines that are not written cost nothing.
    let lowest = requested.max_level_hint().unwrap_or(LevelFilter::TRACE);
    let silenced = SILENCED.iter().filter_map(|directive| directive.parse().ok());
    silenced.fold(EnvFilter::new(lowest.to_string()), EnvFilter::add_directive)
}

fn subscriber<W>(settings: &Log, sink: W, colours: bool) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let requested = EnvFilter::new(settings.level.as_str());
    let silence = silence_filter(&requested);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(requested)
        .with_writer(sink)
        .with_ansi(colours && settings.format == LogFormat::Text)
        // It would report a failed write on stderr, with a macro that panics when stderr is closed.
        .log_internal_errors(false);
    match settings.format {
        LogFormat::Text => Box::new(builder.finish().with(silence)),
        LogFormat::Json => {
            Box::new(builder.json().flatten_event(true).with_span_list(false).finish().with(silence))
        }
    }
}

fn log_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    error!(panic.place = place, panic.message = literal_message(info.payload()), "a thread panicked");
}

/// Returns the message of a panic if it is a literal of the program.
fn literal_message(payload: &dyn Any) -> &'static str {
    // A formatted message may contain text of a library: slicing inside a character quotes the whole text, for one.
    payload.downcast_ref::<&'static str>().copied().unwrap_or("(a message that is not shown)")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use tracing::subscriber::{DefaultGuard, set_default, with_default};
    use tracing::{debug, info, info_span, trace, trace_span, warn};

    use super::*;
    use crate::settings::Settings;

    /// A writer that collects the lines of the log for a test.
    #[derive(Clone, Default)]
    pub(crate) struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Sink {
        /// Returns everything that was written.
        pub(crate) fn written(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    /// Collects the lines that this thread logs until the guard is dropped.
    pub(crate) fn capture_log() -> (Sink, DefaultGuard) {
        let lines = Sink::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        (lines, set_default(log))
    }

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct ClosedSink;

    impl Write for ClosedSink {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    fn settings(format: &str, level: &str) -> Log {
        let variables = [("CARREL__LOG__FORMAT", format), ("CARREL__LOG__LEVEL", level)];
        let owned = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Settings::load(None, owned.into_iter()).unwrap().log
    }

    fn written(log: &Log, colours: bool, what: impl FnOnce()) -> String {
        let sink = Sink::default();
        let kept = sink.clone();
        with_default(subscriber(log, move || kept.clone(), colours), what);
        sink.written()
    }

    #[test]
    fn json_line_is_one_object_with_its_fields() {
        let log = settings("json", "info");

        let line = written(&log, true, || {
            let _span = info_span!("request", request.id = "r1").entered();
            info!(job.id = 7, "transcribed upload");
        });

        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line.lines().count(), 1);
        assert_eq!(read["message"], "transcribed upload");
        assert_eq!((&read["job.id"], &read["span"]["request.id"]), (&7.into(), &"r1".into()));
    }

    #[test]
    fn colours_are_for_terminals() {
        let log = settings("text", "info");

        assert!(written(&log, true, || info!("a")).contains('\u{1b}'));
        assert!(!written(&log, false, || info!("a")).contains('\u{1b}'));
    }

    #[test]
    fn lines_below_the_level_are_not_written() {
        assert_eq!(written(&settings("text", "warn"), false, || info!("quiet")), "");
    }

    /// The TLS library logs the host of each connection at `debug` and the whole handshake at `trace`.
    #[test]
    fn libraries_that_name_hosts_are_silent_whatever_the_level() {
        let parts = "info,rustls::client=trace,reqwest::connect=trace,hyper_util::client=trace,sqlx::query=trace,\
                     sea_orm::driver::sqlx_postgres=trace,actix_http::h1::decoder=trace,h2::hpack=trace";
        for level in ["trace", parts, "info,[request]=trace"] {
            let lines = written(&settings("text", level), false, || {
                let _span = info_span!("request", request.id = "r1").entered();
                info!("a line of ours");
                debug!(target: "rustls::client::hs", "No cached session for DnsName(\"canary.example\")");
                trace!(target: "rustls::client::hs", "Sending ClientHello: canary.example");
                debug!(target: "reqwest::connect", "starting new connection: https://canary.example/");
                trace!(target: "hyper_util::client::legacy::pool", "pooled for canary.example");
                debug!(target: "sqlx::query", "SELECT 'canary'");
                debug!(target: "actix_http::h1::decoder", "illegal Content-Length: \"canary\"");
                trace!(target: "h2::hpack::encoder", "api-key: canary");
                debug!(target: "tonic::transport", "api-key: canary");
                warn!(target: "tokenizers::tokenizer", "canary");
                trace_span!(target: "sea_orm::driver::sqlx_postgres", "connect", url = "postgres://u:canary@h")
                    .in_scope(|| info!("another line of ours"));
            });

            assert!(lines.contains("a line of ours") && !lines.contains("canary"), "{level}: {lines}");
            assert!(lines.contains("another line of ours"), "{level}: {lines}");
        }
    }

    /// The directives that silence libraries enable no lines by themselves.
    #[test]
    fn silenced_libraries_add_no_lines() {
        for level in ["off", "error"] {
            let lines = written(&settings("text", level), false, || {
                warn!(target: "reqwest::connect", "a library");
                warn!("ours");
            });

            assert_eq!(lines, "", "{level}");
        }
    }

    /// Covers the threat table (row L3).
    #[test]
    fn line_breaks_and_escapes_in_fields_are_neutralized() {
        let forged = "x\r\n2026-01-01T00:00:00Z ERROR carrel: forged\u{1b}[2J\u{7}";
        for format in ["text", "json"] {
            let lines = written(&settings(format, "info"), false, || info!(reason = forged, "failed"));

            assert_eq!(lines.lines().count(), 1, "{format}: {lines:?}");
            let controls = |c: char| c.is_control() && c != '\n';
            assert!(lines.contains("forged") && !lines.contains(controls), "{format}: {lines:?}");
        }
    }

    /// Covers the fault table (row 39).
    #[test]
    fn closed_sink_loses_lines_and_nothing_else() {
        for format in ["text", "json"] {
            with_default(subscriber(&settings(format, "trace"), || ClosedSink, false), || info!("lost"));
        }
    }

    /// Covers the threat table (row L1).
    #[test]
    fn panic_logs_only_literal_messages() {
        let literal = panic::catch_unwind(|| panic!("the core is gone")).unwrap_err();
        let put_together = panic::catch_unwind(|| panic!("{} is gone", String::from("canary"))).unwrap_err();

        assert_eq!(literal_message(literal.as_ref()), "the core is gone");
        assert_eq!(literal_message(put_together.as_ref()), "(a message that is not shown)");
    }
}
