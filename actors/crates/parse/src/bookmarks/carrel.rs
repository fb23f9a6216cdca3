//! An export of this server: `library.jsonl`, whose lines name the texts in `documents/` and the files in `files/`.

use serde_json::{Value, from_slice, to_value};

use super::import_error::ImportError;
use super::lenient::ObjectName;
use super::line_reader::{self, LineContent, LineReader};
use super::row::RowContent;
use super::zip_reader::ZipReader;
use crate::archive::{DocumentRecord, FORMAT_VERSION, LIBRARY_FILE, MANIFEST_FILE, Record, document_path};
use crate::html::{MAX_HEADINGS, sanitize_for_text};

/// The longest document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 32 << 20;

/// Reads every line, with its text.
pub fn read_rows(mut archive: ZipReader) -> Result<impl Iterator<Item = super::row::Row>, ImportError> {
    // The version comes first: a later one may mean other things by the same names.
    let manifest = archive.read_entry(MANIFEST_FILE, 64 << 10).ok_or(ImportError::Damaged)?;
    let manifest: Value = from_slice(&manifest).map_err(|_| ImportError::Damaged)?;
    if manifest.get("version").and_then(Value::as_u64) != Some(FORMAT_VERSION) {
        return Err(ImportError::WrongFormat);
    }
    let mut lines = LineReader::new(archive.open_entry(LIBRARY_FILE)?);
    Ok(std::iter::from_fn(move || {
        lines.next_row(|content| match content {
            LineContent::Whole(bytes) => match record(&bytes, &mut archive) {
                Ok(record) => RowContent::Record(record),
                Err(reason) => RowContent::skipped_with_name(reason, name_of(&bytes)),
            },
            LineContent::TooLong => line_reader::too_long(),
        })
    }))
}

fn read_text(archive: &mut ZipReader, id: &str) -> Option<Value> {
    let text = archive.claim_text(&document_path(id), MAX_DOCUMENT_BYTES).ok()??;
    // Parsed as its type: as a JSON value, hostile input would be many times as large in memory.
    let text: DocumentRecord = from_slice(&text).ok()?;
    to_value(sanitize_document(text)).ok()
}

/// Sanitizes the HTML of a text, and drops what does not fit the text: an archive may come from anyone.
fn sanitize_document(mut text: DocumentRecord) -> DocumentRecord {
    let whole: String = text.passages.iter().map(|passage| passage.text.as_str()).collect();
    let chars = whole.chars().count();
    text.html = text.html.and_then(|html| sanitize_for_text(&html, &whole));
    text.outline.retain(|heading| heading.is_within(chars));
    text.outline.truncate(MAX_HEADINGS);
    text
}

/// Returns what names an object of any kind in a line.
fn name_of(line: &[u8]) -> Option<String> {
    from_slice::<ObjectName>(line).ok()?.into_text()
}

fn record(line: &[u8], archive: &mut ZipReader) -> Result<Value, &'static str> {
    let record: Record =
        from_slice(line).map_err(|_| "is not a line of an export that this version knows")?;
    // Through the type and back: unknown members are dropped, and missing ones have their defaults.
    let mut record = to_value(record).map_err(|_| "is not a line of an export that this version knows")?;
    let id = record.get("document").and_then(Value::as_str).map(str::to_owned);
    // Without a text, or with one that is too long, the document is fetched again.
    if let (Some(id), Some(members)) = (id, record.as_object_mut())
        && let Some(text) = read_text(archive, &id)
    {
        members.insert("text".to_owned(), text);
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::super::zip_reader::tests::zip_file;
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
        let lines = [
            line(ID),
            line(ID),
            line(&other),
            "{\"kind\": \"tree\", \"name\": \"Oak\"}".to_owned(),
            "no JSON".to_owned(),
        ]
        .join("\n");
        let file = zip_file(&[
            (MANIFEST_FILE, br#"{"format": "carrel", "version": 1}"#),
            (LIBRARY_FILE, lines.as_bytes()),
            (&document_path(ID), text),
            (&document_path(&other), br#"{"passages": [0, 0]}"#),
        ]);

        let rows: Vec<_> = read_rows(ZipReader::open(file).unwrap()).unwrap().collect();

        assert!(
            matches!(&rows[0].content, RowContent::Record(record) if record["text"]["title"] == "T"),
            "{rows:?}"
        );
        assert_eq!(rows.len(), 5);
        let without = |row: &super::super::row::Row| matches!(&row.content, RowContent::Record(record) if record["text"].is_null());
        assert!(rows[1..3].iter().all(without), "{rows:?}");
        let reason = "is not a line of an export that this version knows";
        assert_eq!(rows[3].content, RowContent::skipped_with_name(reason, Some("Oak".to_owned())));
        assert_eq!(rows[4].content, RowContent::skipped(reason));
    }

    #[test]
    fn html_of_an_archive_is_sanitised() {
        let text = br#"{"contentType": "article", "title": "T", "titleGiven": false, "author": null, "siteName": null,
            "description": null, "imageUrl": null, "language": null, "passages": [{"text": "Two "}, {"text": "words."}],
            "html": "<p data-start=\"0\">Two <b onclick=x()>words.</b></p><script>x()</script>",
            "outline": [{"title": "T", "level": 1, "offset": 4}, {"title": "Far", "level": 1, "offset": 400}]}"#;
        let file = zip_file(&[
            (MANIFEST_FILE, br#"{"version": 1}"#),
            (LIBRARY_FILE, line(ID).as_bytes()),
            (&document_path(ID), text),
        ]);

        let rows: Vec<_> = read_rows(ZipReader::open(file).unwrap()).unwrap().collect();

        let RowContent::Record(record) = &rows[0].content else { panic!("{rows:?}") };
        assert_eq!(record["text"]["html"], "<p data-start=\"0\">Two <b>words.</b></p>");
        assert_eq!(record["text"]["outline"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn export_of_a_later_version_is_rejected() {
        let file = zip_file(&[(MANIFEST_FILE, br#"{"version": 2}"#), (LIBRARY_FILE, b"")]);
        assert_eq!(read_rows(ZipReader::open(file).unwrap()).err(), Some(ImportError::WrongFormat));
    }
}
