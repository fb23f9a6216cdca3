//! An answer as Markdown, with its quotes and links to their positions.

use super::view::{AnswerView, CitationView, SourceState};

/// Returns an answer as Markdown: its text, whose markers are links; then a list of the sources with their quotes. `not_verified` is what is
/// said of a quote that was not found in its source.
pub fn answer_markdown(answer: &AnswerView, base_url: &str, not_verified: &str) -> String {
    let mut markdown = answer.answer.clone();
    let (mut list, mut links) = (String::new(), String::new());
    for citation in &answer.citations {
        let url = source_url(citation, base_url);
        list.push_str(&format!("{}. {}\n", citation.citation.n, describe(citation, &url, not_verified)));
        links.push_str(&format!("[{}]: {url}\n", citation.citation.n));
    }
    if !list.is_empty() {
        markdown.push_str(&format!("\n\n{list}\n{links}"));
    }
    markdown.trim_end().to_owned()
}

/// Returns the URL of the position of a quote in the web app.
fn source_url(citation: &CitationView, base_url: &str) -> String {
    let document = citation.citation.document_id;
    match citation.source {
        SourceState::Current => format!("{base_url}{}", citation.position.reader_path(document)),
        SourceState::Changed | SourceState::Gone => format!("{base_url}/read/{document}"),
    }
}

fn describe(citation: &CitationView, url: &str, not_verified: &str) -> String {
    let cited = &citation.citation;
    let title = escape(&text::one_line(&cited.title));
    let title = if title.is_empty() { escape(&cited.url) } else { title };
    let mut line = format!("[{title}]({url})");
    if let Some(place) = place(citation) {
        line.push_str(&format!(", {place}"));
    }
    if !cited.quote.is_empty() {
        line.push_str(&format!(": “{}”", escape(&text::one_line(&cited.quote))));
    }
    if !cited.verified {
        line.push_str(&format!(" ({not_verified})"));
    }
    line
}

/// Returns the place of a quote as the app names it: `p. 12`, `14:32`, `¶ 5`.
fn place(citation: &CitationView) -> Option<String> {
    let position = &citation.position;
    if let Some(page) = position.page {
        return Some(format!("p. {page}"));
    }
    if let Some(seconds) = position.start_seconds {
        return Some(clock(seconds));
    }
    position.paragraph.map(|paragraph| format!("¶ {paragraph}"))
}

/// Returns a time in a recording: `4:05`, `1:02:03`.
fn clock(seconds: f64) -> String {
    let minutes = (seconds.max(0.0) / 60.0).floor();
    let (hours, rest) = ((minutes / 60.0).floor(), seconds.max(0.0) - 60.0 * minutes);
    let rest = rest.floor();
    if hours > 0.0 {
        return format!("{hours}:{:02}:{rest:02}", minutes - 60.0 * hours);
    }
    format!("{minutes}:{rest:02}")
}

/// Escapes what would be Markdown in a title or a quote.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_hours_only_if_needed() {
        assert_eq!(clock(872.9), "14:32");
        assert_eq!(clock(3723.0), "1:02:03");
        assert_eq!(clock(-1.0), "0:00");
    }

    #[test]
    fn signs_of_markdown_are_escaped() {
        assert_eq!(escape("a [b] *c* <d>"), "a \\[b\\] \\*c\\* \\<d\\>");
    }
}
