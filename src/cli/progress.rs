//! How far a command is, on stderr and only where that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

const OF_KNOWN_SIZE: &str = "{msg} {bar:30} {bytes} of {total_bytes}, {eta} to go";
const OF_UNKNOWN_SIZE: &str = "{msg} {spinner} {bytes}";

/// Counts bytes, of so many where that is known.
pub fn bytes(what: String, total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), OF_KNOWN_SIZE),
        None => (ProgressBar::new_spinner(), OF_UNKNOWN_SIZE),
    };
    // A template that cannot be read leaves the bar as it is made.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style).with_message(what),
        Err(_) => bar.with_message(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_can_be_read() {
        assert!(ProgressStyle::with_template(OF_KNOWN_SIZE).is_ok());
        assert!(ProgressStyle::with_template(OF_UNKNOWN_SIZE).is_ok());
    }
}
