//! The progress of a command, on stderr and only if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

const OF_KNOWN_SIZE: &str = "{msg} {bar:30} {bytes} of {total_bytes}, {eta} to go";
const OF_UNKNOWN_SIZE: &str = "{msg} {spinner} {bytes}";
const COUNT: &str = "{msg} {spinner} {human_pos}";

/// Counts bytes, out of the total if that is known.
pub fn bytes(what: String, total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), OF_KNOWN_SIZE),
        None => (ProgressBar::new_spinner(), OF_UNKNOWN_SIZE),
    };
    styled(bar, template).with_message(what)
}

/// Counts items whose total is unknown.
pub fn count(what: &'static str) -> ProgressBar {
    styled(ProgressBar::new_spinner(), COUNT).with_message(what)
}

/// If the template cannot be parsed, the bar keeps its default style.
fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_can_be_parsed() {
        assert!(ProgressStyle::with_template(OF_KNOWN_SIZE).is_ok());
        assert!(ProgressStyle::with_template(OF_UNKNOWN_SIZE).is_ok());
        assert!(ProgressStyle::with_template(COUNT).is_ok());
    }
}
