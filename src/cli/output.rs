//! The output of a command on stdout: text, or one JSON object for a program.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;
use text::is_control_or_bidi;

use super::failure::Failure;

/// The output of a command, in both forms, with its exit status.
#[derive(Debug)]
pub struct CommandOutput {
    text: String,
    json: Value,
    is_success: bool,
    /// The failure that stopped the command after what the report says.
    failure: Option<Failure>,
}

impl CommandOutput {
    /// Makes the output of a report: `Display` is the text, `Serialize` the JSON object.
    ///
    /// # Errors
    /// [`Failure::ReportFailed`] when the report cannot be written as JSON.
    pub fn of(report: &(impl Serialize + Display)) -> Result<Self, Failure> {
        let json = serde_json::to_value(report).map_err(Failure::ReportFailed)?;
        Ok(Self { text: report.to_string(), json, is_success: true, failure: None })
    }

    /// Makes the output of a command that prints nothing and succeeds.
    pub fn nothing() -> Self {
        Self { text: String::new(), json: Value::Null, is_success: true, failure: None }
    }

    /// Sets whether the exit status is that of success. A report of something that is wrong is printed, and is a failure.
    pub fn with_success(self, is_success: bool) -> Self {
        Self { is_success, ..self }
    }

    /// Adds the failure that stopped the command after what the report says. It is printed after the report, and decides the exit
    /// status.
    pub fn with_failure(self, failure: Option<Failure>) -> Self {
        Self { failure, ..self }
    }

    /// Returns whether the exit status is that of success.
    pub fn is_good(&self) -> bool {
        self.is_success && self.failure.is_none()
    }

    /// Prints the output and returns the exit status.
    pub fn print(&self, json: bool) -> ExitCode {
        let status = self.print_report(json);
        self.failure.as_ref().map_or(status, |failure| failure.print(json))
    }

    fn print_report(&self, json: bool) -> ExitCode {
        if self.json.is_null() {
            // Nothing to print. stdout is not even locked, because a thread that still runs may hold the lock.
            return if self.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        match self.write(json, &mut io::stdout().lock()) {
            Ok(()) if self.is_good() => ExitCode::SUCCESS,
            Ok(()) => ExitCode::FAILURE,
            // The reader has closed the pipe, so the failure cannot be reported.
            Err(cause) if cause.kind() == ErrorKind::BrokenPipe => ExitCode::FAILURE,
            Err(cause) => Failure::OutputFailed(cause).print(json),
        }
    }

    fn write(&self, json: bool, to: &mut impl Write) -> io::Result<()> {
        if self.json.is_null() {
            return Ok(());
        }
        if json {
            serde_json::to_writer(&mut *to, &self.json)?;
        } else {
            write!(to, "{}", self.text.trim_end())?;
        }
        writeln!(to)?;
        to.flush()
    }
}

/// Returns an untrusted text for one line of the terminal: characters that could move the cursor, change colours or reverse the
/// text are replaced by `?`.
pub fn shown(text: &str) -> String {
    text.chars().map(|c| if is_control_or_bidi(c) { '?' } else { c }).collect()
}

/// Formats a table with a header, each column as wide as its widest text.
pub fn table<const N: usize>(heads: [&str; N], rows: &[[String; N]]) -> String {
    let heads = heads.map(str::to_owned);
    let mut widths = [0; N];
    for row in std::iter::once(&heads).chain(rows) {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = (*width).max(text.chars().count());
        }
    }
    let mut drawn = String::new();
    for row in std::iter::once(&heads).chain(rows) {
        let cells: Vec<_> = row.iter().zip(widths).map(|(text, width)| format!("{text:width$}")).collect();
        drawn.push_str(cells.join("  ").trim_end());
        drawn.push('\n');
    }
    drawn
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct AccountReport {
        user_id: &'static str,
    }

    impl Display for AccountReport {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "created the account\n{}\n", self.user_id)
        }
    }

    fn written(output: &CommandOutput, json: bool) -> String {
        let mut sink = Vec::new();
        output.write(json, &mut sink).unwrap();
        String::from_utf8(sink).unwrap()
    }

    #[test]
    fn report_is_one_json_object_or_text() {
        let output = CommandOutput::of(&AccountReport { user_id: "u1" }).unwrap();

        assert_eq!(written(&output, true), "{\"userId\":\"u1\"}\n");
        assert_eq!(written(&output, false), "created the account\nu1\n");
    }

    #[test]
    fn command_without_output_prints_nothing() {
        assert_eq!(written(&CommandOutput::nothing(), true), "");
        assert_eq!(written(&CommandOutput::nothing(), false), "");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_text() {
        let rows =
            [["a@b.example".to_owned(), "pro".to_owned()], ["ä@b.example".to_owned(), "free".to_owned()]];

        assert_eq!(
            table(["EMAIL", "PLAN"], &rows),
            "EMAIL        PLAN\na@b.example  pro\nä@b.example  free\n"
        );
    }

    #[test]
    fn control_characters_are_not_printed() {
        assert_eq!(shown("A\u{1b}[31mnn\r\nx\u{202e}y"), "A?[31mnn??x?y");
    }
}
