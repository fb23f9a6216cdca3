//! An export of this service: `library.jsonl`, whose lines name the texts in `documents/` and the files in `files/`.

use serde_json::{Value, from_slice, to_value};

use super::NoImport;
use super::archive::Archive;
use super::lines::{Line, Lines};
use super::row::Found;
use crate::archive::{LIBRARY, Record, SIGN, Text, VERSION, document};
use crate::html::{MAX_HEADINGS, sanitize_for_text};

/// Bytes of a document.
const TEXT: usize = 32 << 20;

/// Every line, with its text.
pub fn read(mut archive: Archive) -> Result<impl Iterator<Item = super::row::Row>, NoImport> {
    let sign = archive.short(SIGN, 64 << 10).ok_or(NoImport::Damaged)?;
    let sign: Value = from_slice(&sign).map_err(|_| NoImport::Damaged)?;
    if sign.get("version").and_then(Value::as_u64) != Some(VERSION) {
        return Err(NoImport::Other);
    }
    let mut lines = Lines::of(archive.unpack(LIBRARY)?);
    Ok(std::iter::from_fn(move || {
        lines.row(|content| match content {
            Line::Whole(bytes) => {
                record(&bytes, &mut archive).map_or_else(|why| Found::Passed(why.to_owned()), Found::Record)
            }
            Line::TooLong => Found::Passed("is too long".to_owned()),
        })
    }))
}

fn text(archive: &mut Archive, id: &str) -> Option<Value> {
    let text = archive.text(&document(id), TEXT).ok()??;
    // Read as what it is to be: anything else would be many times as long in memory.
    let text: Text = from_slice(&text).ok()?;
    to_value(shown_safely(text)).ok()
}

/// An archive may come from anybody: what is shown of it is made safe, and left where it is not of the text.
fn shown_safely(mut text: Text) -> Text {
    let whole: String = text.passages.iter().map(|passage| passage.text.as_str()).collect();
    let chars = whole.chars().count();
    text.html = text.html.and_then(|html| sanitize_for_text(&html, &whole));
    text.outline.retain(|heading| heading.is_within(chars));
    text.outline.truncate(MAX_HEADINGS);
    text
}

fn record(line: &[u8], archive: &mut Archive) -> Result<Value, &'static str> {
    let record: Record = from_slice(line).map_err(|_| "is no line of an export that is known")?;
    let mut record = to_value(record).map_err(|_| "is no line of an export that is known")?;
    let id = record.get("document").and_then(Value::as_str).map(str::to_owned);
    // What has lost its text, or has too long a one, is still there to be read anew.
    if let (Some(id), Some(members)) = (id, record.as_object_mut())
        && let Some(text) = text(archive, &id)
    {
        members.insert("text".to_owned(), text);
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::super::archive::tests::packed;
    use super::*;

    const ID: &str = "018f4d5e-0000-7000-8000-000000000001";

    fn line(document: &str) -> String {
        let line = serde_json::json!({
            "kind": "bookmark", "id": ID, "form": "page", "url": "https://a.example/", "tags": [], "notes": null, "collections": [],
            "favorite": false, "archived": false, "progress": 0.0, "savedAt": "2023-11-14T22:13:20.000Z", "document": document,
            "file": null,
        });
        line.to_string()
    }

    #[test]
    fn lines_come_with_their_texts_and_each_text_once() {
        let text = br#"{"contentType": "article", "title": "T", "titleGiven": false, "author": null, "siteName": null,
            "description": null, "imageUrl": null, "language": null, "passages": []}"#;
        let other = ID.replace('1', "2");
        let lines =
            [line(ID), line(ID), line(&other), "{\"kind\": \"tree\"}".to_owned(), "no JSON".to_owned()]
                .join("\n");
        let file = packed(&[
            (SIGN, br#"{"format": "carrel", "version": 1}"#),
            (LIBRARY, lines.as_bytes()),
            (&document(ID), text),
            (&document(&other), br#"{"passages": [0, 0]}"#),
        ]);

        let rows: Vec<_> = read(Archive::open(file).unwrap()).unwrap().collect();

        assert!(
            matches!(&rows[0].found, Found::Record(record) if record["text"]["title"] == "T"),
            "{rows:?}"
        );
        assert_eq!(rows.len(), 5);
        let without = |row: &super::super::row::Row| matches!(&row.found, Found::Record(record) if record["text"].is_null());
        assert!(rows[1..3].iter().all(without), "{rows:?}");
        assert!(rows[3..].iter().all(|row| matches!(row.found, Found::Passed(_))), "{rows:?}");
    }

    #[test]
    fn what_an_archive_shows_is_made_safe() {
        let text = br#"{"contentType": "article", "title": "T", "titleGiven": false, "author": null, "siteName": null,
            "description": null, "imageUrl": null, "language": null, "passages": [{"text": "Two "}, {"text": "words."}],
            "html": "<p data-start=\"0\">Two <b onclick=x()>words.</b></p><script>x()</script>",
            "outline": [{"title": "T", "level": 1, "offset": 4}, {"title": "Far", "level": 1, "offset": 400}]}"#;
        let file =
            packed(&[(SIGN, br#"{"version": 1}"#), (LIBRARY, line(ID).as_bytes()), (&document(ID), text)]);

        let rows: Vec<_> = read(Archive::open(file).unwrap()).unwrap().collect();

        let Found::Record(record) = &rows[0].found else { panic!("{rows:?}") };
        assert_eq!(record["text"]["html"], "<p data-start=\"0\">Two <b>words.</b></p>");
        assert_eq!(record["text"]["outline"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn an_export_of_a_later_version_is_refused() {
        let file = packed(&[(SIGN, br#"{"version": 2}"#), (LIBRARY, b"")]);
        assert_eq!(read(Archive::open(file).unwrap()).err(), Some(NoImport::Other));
    }
}
