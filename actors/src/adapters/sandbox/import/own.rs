//! An export of this service: `library.jsonl`, whose lines name the texts in `documents/` and the files in `files/`.

use serde_json::{Map, Value, from_slice};

use super::archive::Archive;
use super::lines::{Line, Lines};
use super::row::Found;
use super::wire::NoImport;

/// The file by which an archive is known as an export.
pub const SIGN: &str = "carrel.json";
/// The file with everything but texts and files.
pub const LIBRARY: &str = "library.jsonl";
/// The one version there is.
pub const VERSION: u64 = 1;

/// Bytes of a document.
const TEXT: usize = 64 << 20;

/// Where the text of a document stands.
pub fn document(id: &str) -> String {
    format!("documents/{id}.json")
}

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

fn record(line: &[u8], archive: &mut Archive) -> Result<Value, &'static str> {
    let mut record: Map<String, Value> = from_slice(line).map_err(|_| "is no line of an export")?;
    if let Some(id) = record.get("document").and_then(Value::as_str) {
        let text = archive
            .short(&document(id), TEXT)
            .ok_or("its text is missing, damaged, or longer than 64 MiB")?;
        record.insert("text".to_owned(), from_slice(&text).map_err(|_| "its text is damaged")?);
    }
    Ok(Value::Object(record))
}

#[cfg(test)]
mod tests {
    use super::super::archive::tests::packed;
    use super::*;

    #[test]
    fn lines_come_with_their_texts() {
        let file = packed(&[
            (SIGN, br#"{"format": "carrel", "version": 1}"#),
            (
                LIBRARY,
                b"{\"kind\": \"a\", \"document\": \"1\"}\n{\"kind\": \"b\", \"document\": \"2\"}\nno JSON\n",
            ),
            ("documents/1.json", br#"{"title": "T"}"#),
        ]);

        let rows: Vec<_> = read(Archive::open(file).unwrap()).unwrap().collect();

        assert!(matches!(&rows[0].found, Found::Record(record) if record["text"]["title"] == "T"));
        assert!(matches!((&rows[1].found, &rows[2].found), (Found::Passed(_), Found::Passed(_))));
    }

    #[test]
    fn an_export_of_a_later_version_is_refused() {
        let file = packed(&[(SIGN, br#"{"version": 2}"#), (LIBRARY, b"")]);
        assert_eq!(read(Archive::open(file).unwrap()).err(), Some(NoImport::Other));
    }
}
