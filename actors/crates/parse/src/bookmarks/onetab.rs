//! Lists of URLs, one a line: `URL | Title` as OneTab writes them, or the URL alone.

use super::row::{ForeignBookmark, Row};

/// Returns whether a text, in lower case, begins with such a list: its first line is a URL of the web, or one of its first lines is and
/// all of them are URLs.
pub fn is_link_list(start: &str) -> bool {
    let lines = || start.lines().map(str::trim).filter(|line| !line.is_empty()).take(20);
    let is_web = |line: &str| line.starts_with("http://") || line.starts_with("https://");
    let is_address = |line: &str| line.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme));
    // Tabs of the browser's own pages may come first, and then every line must be a URL: prose may hold one too.
    lines().next().is_some_and(is_web) || lines().any(is_web) && lines().all(is_address)
}

/// Returns whether a text is a URL scheme (RFC 3986, section 3.1), as browsers have for their own pages.
fn is_scheme(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_part)
}

/// Reads every line that is not blank.
pub fn read_rows(text: &str) -> Vec<Row> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let rows = lines.map(|(line, number)| {
        // At the first separator: titles may contain it, URLs do not.
        let (url, title) = line.split_once(" | ").map_or((line, None), |(url, title)| (url, Some(title)));
        let page = ForeignBookmark {
            url: url.to_owned(),
            title: title.map(str::to_owned),
            ..ForeignBookmark::default()
        };
        Row { line: number, content: page.into() }
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::super::row::RowContent;
    use super::*;

    #[test]
    fn list_may_begin_with_a_browser_page() {
        assert!(is_link_list("https://a.example/1 | one"));
        assert!(is_link_list("chrome://extensions/ | extensions\n\nhttps://a.example/1 | one"));
        assert!(!is_link_list("note: to do\nmilk"));
        assert!(!is_link_list("chrome://extensions/ | extensions\nsome words\nhttps://a.example/1"));
    }

    #[test]
    fn line_without_a_url_is_named_by_its_title() {
        let rows = read_rows(" | One\n");

        assert_eq!(rows[0].content, RowContent::skipped_with_name("has no URL", Some("One".to_owned())));
    }

    #[test]
    fn line_has_a_url_and_a_title() {
        let rows = read_rows("https://a.example/1 | One | two\n\nhttps://a.example/2\n");

        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [1, 3]);
        let RowContent::Bookmark(first) = &rows[0].content else { panic!() };
        assert_eq!(
            (&first.fields["url"], &first.fields["title"]),
            (&"https://a.example/1".into(), &"One | two".into())
        );
    }
}
