//! Readwise Reader: `Title,URL,ID,Document tags,Saved date,Reading progress,Location,Seen`, tags as Python writes a list.

use super::super::format::Format;
use super::super::row::ForeignBookmark;
use super::super::time_formats::parse_time;
use super::table::{Cells, Table, address};

pub const TABLE: Table = Table {
    format: Format::Readwise,
    needs: &["url", "document tags", "saved date"],
    known: &["title", "url", "id", "document tags", "saved date", "reading progress", "location", "seen"],
    read: read_bookmark,
};

fn read_bookmark(cells: &Cells<'_>) -> Result<ForeignBookmark, &'static str> {
    let location = cells.get("location");
    // Reader exports everything that its feeds brought, not only what the user saved.
    if location == Some("feed") {
        return Err("is an entry of a feed that was never saved");
    }
    Ok(ForeignBookmark {
        url: address(cells)?,
        title: cells.text("title"),
        tags: cells.get("document tags").map(names).unwrap_or_default(),
        saved_at: cells.get("saved date").and_then(parse_time),
        favorite: location == Some("shortlist"),
        archived: location == Some("archive"),
        progress: cells.get("reading progress").and_then(|part| part.parse().ok()),
        ..ForeignBookmark::default()
    })
}

/// Returns the names of a list such as `['one', "it's two"]`.
fn names(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut chars = list.chars();
    while let Some(quote) = chars.find(|c| matches!(c, '\'' | '"')) {
        let mut name = String::new();
        while let Some(c) = chars.next().filter(|c| *c != quote) {
            name.extend(if c == '\\' { chars.next() } else { Some(c) });
        }
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_list_literals_are_parsed() {
        assert_eq!(names(r#"['a', "it's", 'say \'x\'', 'b, c']"#), ["a", "it's", "say 'x'", "b, c"]);
        assert!(names("[]").is_empty() && names("").is_empty());
        assert_eq!(names("['open"), ["open"]);
    }
}
