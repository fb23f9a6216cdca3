//! Detects the format of a file of another program, and reads its rows.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use serde_json::{Map, Value, from_slice};
use text::charset;

use super::format::Format;
use super::import_error::ImportError;
use super::line_reader::{self, LineContent, LineReader};
use super::row::{BookmarkDraft, Row, RowContent};
use super::zip_reader::{ZIP_MAGIC, ZipReader};
use super::{browser, carrel, karakeep, linkwarden, netscape, objects, omnivore, onetab, tables};
use crate::archive::MANIFEST_FILE;
use crate::feed;
use crate::html::has_attribute_flood;

/// The longest file of a format that is read whole, in bytes.
const MAX_WHOLE_FILE_BYTES: u64 = 256 << 20;
/// The bytes by which the format of a text is detected.
const SNIFF_BYTES: usize = 64 << 10;

/// A file of another program that is being read.
pub struct ImportSource {
    /// The format that was detected, or that the user named.
    pub format: Format,
    /// Names of the columns of a table that are not read, for the report; at most 100.
    pub unread_columns: Vec<String>,
    /// Its rows, read one after the other as they are asked for.
    pub rows: Box<dyn Iterator<Item = Row>>,
    /// The archive, if it is one, for the files in it.
    pub archive: Option<ZipReader>,
}

impl ImportSource {
    fn new(format: Format, rows: impl Iterator<Item = Row> + 'static) -> Self {
        Self { format, unread_columns: Vec::new(), rows: Box::new(rows), archive: None }
    }

    /// Opens a file and detects its format. With `wanted`, the format named by the user, only that one is tried.
    ///
    /// # Errors
    /// The [`ImportError`] that says why no row can be read. Rows that cannot be read one by one are [`RowContent::Skipped`].
    pub fn open(file: File, wanted: Option<Format>) -> Result<Self, ImportError> {
        let file = Arc::new(file);
        let head = read_head(&file).map_err(|_| ImportError::Damaged)?;
        // By the bytes: names and media types of uploads are often wrong.
        let found = if head.starts_with(ZIP_MAGIC) {
            read_archive(file, wanted)
        } else {
            read_file(&file, &head, wanted)
        };
        let found = found?;
        match wanted {
            Some(wanted) if wanted != found.format => Err(ImportError::WrongFormat),
            Some(_) | None => Ok(found),
        }
    }
}

fn read_head(file: &File) -> io::Result<Vec<u8>> {
    let mut head = vec![0; SNIFF_BYTES];
    let read = file.read_at(&mut head, 0)?;
    head.truncate(read);
    Ok(head)
}

fn read_archive(file: Arc<File>, wanted: Option<Format>) -> Result<ImportSource, ImportError> {
    let mut archive = ZipReader::open(file.clone())?;
    let names = archive.entry_names();
    if names.iter().any(|name| name == MANIFEST_FILE) {
        let rows = carrel::read_rows(archive)?;
        return Ok(ImportSource {
            // A second reader, for the files in the archive: the rows have taken the first.
            archive: Some(ZipReader::open(file)?),
            ..ImportSource::new(Format::Carrel, rows)
        });
    }
    if omnivore::is_omnivore(&names) {
        let rows = omnivore::read_rows(archive)?;
        let unread_columns = omnivore::UNREAD_FIELDS.iter().map(|name| (*name).to_owned()).collect();
        let archive = Some(ZipReader::open(file)?);
        return Ok(ImportSource { archive, unread_columns, ..ImportSource::new(Format::Omnivore, rows) });
    }
    // Pocket, for example, exports an archive of tables.
    let mut packed: Vec<_> = names.into_iter().filter(|name| is_packed_list(name)).collect();
    // By name, so that the parts of a list that was split are in their order.
    packed.sort();
    let (mut found, mut left): (Vec<(String, ImportSource)>, Vec<String>) = (Vec::new(), Vec::new());
    for name in packed {
        let bytes = archive.read_list(&name, MAX_WHOLE_FILE_BYTES as usize)?;
        // Other files in the archive are not lists, or not of the wanted format.
        match read_text(&bytes, wanted) {
            Ok(source) if wanted.is_none_or(|wanted| wanted == source.format) => found.push((name, source)),
            Ok(_) | Err(_) => left.push(name),
        }
    }
    if found.iter().any(|(_, source)| source.format != Format::Objects) {
        // Annotations and settings in the archive look like lists of objects too.
        let other_lists = found.extract_if(.., |(_, source)| source.format == Format::Objects);
        left.extend(other_lists.map(|(name, _)| name));
    }
    // All lists of an archive come from one program, so the first tells the format.
    let Some((_, first)) = found.first() else { return Err(ImportError::UnknownFormat) };
    let (format, unread_columns) = (first.format, first.unread_columns.clone());
    let mut rows: Vec<Row> = found.into_iter().flat_map(|(_, source)| source.rows).collect();
    rows.extend(left.into_iter().map(|name| Row::skipped_file(&name)));
    Ok(ImportSource { unread_columns, ..ImportSource::new(format, rows.into_iter()) })
}

fn is_packed_list(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [".csv", ".html", ".htm", ".json", ".opml"].iter().any(|end| lower.ends_with(end))
        // macOS adds such a folder with a shadow of each file.
        && !lower.contains("__macosx")
}

fn read_file(file: &Arc<File>, head: &[u8], wanted: Option<Format>) -> Result<ImportSource, ImportError> {
    if wanted == Some(Format::Jsonl) || (wanted.is_none() && is_jsonl(head)) {
        return Ok(ImportSource::new(Format::Jsonl, jsonl(file)?));
    }
    let mut bytes = Vec::new();
    // One byte more than the bound shows that the file is longer.
    let whole = reopen(file)
        .and_then(|mut from| from.by_ref().take(MAX_WHOLE_FILE_BYTES + 1).read_to_end(&mut bytes));
    whole.map_err(|_| ImportError::Damaged)?;
    if bytes.len() as u64 > MAX_WHOLE_FILE_BYTES {
        return Err(ImportError::TooLarge);
    }
    read_text(&bytes, wanted)
}

/// Reopens the file at its start.
fn reopen(file: &Arc<File>) -> io::Result<BufReader<File>> {
    let mut file = file.try_clone()?;
    file.rewind()?;
    Ok(BufReader::new(file))
}

/// Returns whether the first line is an object with a URL.
fn is_jsonl(head: &[u8]) -> bool {
    // Editors on Windows write a byte order mark, which JSON does not allow.
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let Some(line) = head.split(|byte| *byte == b'\n').next() else { return false };
    // A first line that is longer than the head contains the text of a page.
    let cut = line.len() == head.len() && line.starts_with(b"{\"url\"");
    cut || from_slice::<Map<String, Value>>(line).is_ok_and(|members| members.contains_key("url"))
}

fn jsonl(file: &Arc<File>) -> Result<impl Iterator<Item = Row> + use<>, ImportError> {
    let mut lines = LineReader::new(reopen(file).map_err(|_| ImportError::Damaged)?);
    Ok(std::iter::from_fn(move || {
        lines.next_row(|content| match content {
            LineContent::Whole(bytes) => match from_slice::<Value>(&bytes) {
                Ok(Value::Object(fields)) => object_row(fields),
                Ok(_) => RowContent::skipped("must be a JSON object"),
                Err(_) => RowContent::skipped("is not valid JSON in UTF-8"),
            },
            LineContent::TooLong => line_reader::too_long(),
        })
    }))
}

fn object_row(fields: Map<String, Value>) -> RowContent {
    let is_over_limit = fields.values().any(is_list_over_limit);
    let row = RowContent::Bookmark(BookmarkDraft { fields, ..BookmarkDraft::default() });
    if is_over_limit {
        let reason = format!("has a list of more than {MAX_LIST_ITEMS} items");
        return RowContent::skipped_with_name(reason, row.name().map(str::to_owned));
    }
    row
}

/// The longest list that a field may hold, in items. In memory a list is many times as large as in the file.
const MAX_LIST_ITEMS: usize = 10_000;

/// Returns whether a field is a list over the limit.
fn is_list_over_limit(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.len() > MAX_LIST_ITEMS)
}

/// Reads a file from memory.
fn read_text(bytes: &[u8], wanted: Option<Format>) -> Result<ImportSource, ImportError> {
    // Lists of old browsers declare their encoding in a meta element.
    let text = charset::decode_file(bytes);
    let start = start_of(&text);
    if start.starts_with('{') || start.starts_with('[') {
        return json(&text, wanted);
    }
    if start.contains("<opml") {
        let list = feed::read_opml(&text).ok_or(ImportError::UnknownFormat)?;
        // A list that mentions feeds and has none was cut off in its first one; reporting an
        // empty list would hide that.
        if list.feeds.is_empty() && contains_ignore_case(&text, "xmlurl") {
            return Err(ImportError::Damaged);
        }
        let broken = list.is_truncated.then(|| RowContent::skipped("the rest of the list cannot be read"));
        let found = list.feeds.into_iter().map(RowContent::Feed).chain(broken);
        return Ok(ImportSource::new(
            Format::Opml,
            found.zip(1..).map(|(content, line)| Row { line, content }),
        ));
    }
    if start.starts_with('<') {
        // The tokenizer compares each attribute of a tag with those before it, which takes quadratic time.
        if has_attribute_flood(&text) {
            return Err(ImportError::Damaged);
        }
        let rows = netscape::read_rows(&text);
        if rows.is_empty() && contains_ignore_case(&text, "href=") {
            return Err(ImportError::Damaged);
        }
        // A page without a link is not a list, unless it says that it is one.
        let known = !rows.is_empty() || start.contains("netscape-bookmark-file");
        return known
            .then(|| ImportSource::new(Format::Netscape, rows.into_iter()))
            .ok_or(ImportError::UnknownFormat);
    }
    if let Some(table) = tables::find_table(&text, wanted) {
        let source = ImportSource::new(table.format, table.rows(&text));
        return Ok(ImportSource { unread_columns: table.unread_columns(&text), ..source });
    }
    let is_list = wanted == Some(Format::Onetab) || onetab::is_link_list(&start);
    is_list
        .then(|| ImportSource::new(Format::Onetab, onetab::read_rows(&text).into_iter()))
        .ok_or(ImportError::UnknownFormat)
}

/// Reads a file that is one JSON value.
fn json(text: &str, wanted: Option<Format>) -> Result<ImportSource, ImportError> {
    let is = |format| wanted.is_none_or(|wanted| wanted == format);
    // Tried by its type: its member `collections` is required, and no other format has it.
    if let Some(export) = from_slice(text.as_bytes()).ok().filter(|_| is(Format::Linkwarden)) {
        return Ok(ImportSource::new(Format::Linkwarden, linkwarden::read_rows(export).into_iter()));
    }
    let file: Value = from_slice(text.as_bytes()).map_err(|_| ImportError::UnknownFormat)?;
    if is(Format::Karakeep)
        && karakeep::is_karakeep(&file)
        && let Ok(export) = from_slice(text.as_bytes())
    {
        return Ok(ImportSource::new(Format::Karakeep, karakeep::read_rows(export).into_iter()));
    }
    if let Some(roots) = browser::roots(&file) {
        return Ok(ImportSource::new(Format::Browser, browser::read_rows(&roots).into_iter()));
    }
    let list = objects::list(file).ok_or(ImportError::UnknownFormat)?;
    Ok(ImportSource::new(Format::Objects, objects::read_rows(list).into_iter()))
}

/// Returns whether a text contains a word, ignoring ASCII case.
fn contains_ignore_case(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// Returns the first characters in lower case.
fn start_of(text: &str) -> String {
    text.trim_start().chars().take(4096).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::zip_reader::tests::zip_file;
    use super::*;

    fn opened(bytes: &[u8], wanted: Option<Format>) -> Result<(Format, Vec<Row>), ImportError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        ImportSource::open(file, wanted).map(|source| (source.format, source.rows.collect()))
    }

    #[test]
    fn format_is_detected_by_content() {
        for (text, format, rows) in [
            (
                "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><DT><A HREF=\"https://a.example\">A</A></DL>",
                Format::Netscape,
                1,
            ),
            ("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL></DL>", Format::Netscape, 0),
            (
                "<?xml version=\"1.0\"?><opml version=\"2.0\"><body><outline xmlUrl=\"https://a.example/f\"/></body></opml>",
                Format::Opml,
                1,
            ),
            ("{\"url\": \"https://a.example\"}\n{\"url\": 1}\n", Format::Jsonl, 2),
            ("{\"bookmarks\": [], \"lists\": []}", Format::Karakeep, 0),
            ("{\"collections\": []}", Format::Linkwarden, 0),
            ("[{\"url\": \"https://a.example\"}]", Format::Objects, 1),
            ("{\"bookmarks\": [{\"article__url\": \"https://a.example\"}]}", Format::Objects, 1),
            (
                "{\"roots\": {\"other\": {\"children\": [{\"url\": \"https://a.example\"}]}}}",
                Format::Browser,
                1,
            ),
            ("title,url,time_added,tags,status\n", Format::Pocket, 0),
            ("https://a.example | A\nhttps://b.example | B\n", Format::Onetab, 2),
            ("\u{feff}https://a.example\n", Format::Onetab, 1),
        ] {
            let (found, all) = opened(text.as_bytes(), None).unwrap();
            assert_eq!((found, all.len()), (format, rows), "{text}");
            assert_eq!(opened(text.as_bytes(), Some(format)).unwrap().0, format);
        }
        for bytes in
            [&b""[..], b"words", b"%PDF-1.7", b"{\"a\": 1}", b"[1]", b"a,b\n1,2\n", b"<html><p>words</html>"]
        {
            assert_eq!(opened(bytes, None).err(), Some(ImportError::UnknownFormat));
        }
        assert!(opened(b"https://a.example", Some(Format::Opml)).is_err());
    }

    #[test]
    fn json_line_with_a_long_list_is_named_by_its_url() {
        let tags = vec!["a"; MAX_LIST_ITEMS + 1];
        let line = serde_json::json!({ "url": "https://a.example/1", "tags": tags }).to_string();

        let (_, rows) = opened(line.as_bytes(), Some(Format::Jsonl)).unwrap();

        let RowContent::Skipped(skipped) = &rows[0].content else { panic!("{rows:?}") };
        assert_eq!(skipped.reason, "has a list of more than 10000 items");
        assert_eq!(skipped.name.as_deref(), Some("https://a.example/1"));
    }

    #[test]
    fn list_that_is_broken_before_its_first_row_is_not_empty() {
        let endless = format!("<opml><body>{}", "<outline xmlUrl=\"https://a.example/f\"".repeat(1000));
        assert_eq!(opened(endless.as_bytes(), None).err(), Some(ImportError::Damaged));
    }

    /// Covers the threat table (row P4): attributes take quadratic time.
    #[test]
    fn list_with_a_flood_of_attributes_is_damaged() {
        let attributes: String = (0..200_000).map(|n| format!(" a{n}=x")).collect();
        let list = format!("<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><DT><A{attributes}>A</A></DL>");
        assert_eq!(opened(list.as_bytes(), None).err(), Some(ImportError::Damaged));
    }

    #[test]
    fn list_in_a_legacy_encoding_is_read() {
        let html = b"<!DOCTYPE NETSCAPE-Bookmark-file-1><META HTTP-EQUIV=\"Content-Type\" CONTENT=\"text/html; charset=windows-1252\"><DL><DT><A HREF=\"https://a.example\">Gr\xfcn</A></DL>";
        let (_, rows) = opened(html, None).unwrap();
        assert!(matches!(&rows[0].content, RowContent::Bookmark(save) if save.fields["title"] == "Grün"));
    }

    #[test]
    fn other_files_beside_packed_tables_are_ignored() {
        let table = "title,url,time_added,tags,status\nA,https://a.example/1,1,,unread\n";
        let file = zip_file(&[
            ("annotations/part_000000.json", br#"[{"url": "https://a.example/9", "quote": "words"}]"#),
            ("part_000000.csv", table.as_bytes()),
            ("read me.html", b"<p>Words"),
            ("z.html", b"<DL><DT><A HREF=\"https://a.example/2\">B</A></DL>"),
        ]);

        let counted = |source: ImportSource| -> (usize, Vec<String>) {
            let (passed, kept): (Vec<_>, Vec<_>) =
                source.rows.map(|row| row.content).partition(|found| matches!(found, RowContent::Skipped(_)));
            let why = |found: &RowContent| format!("{found:?}");
            (kept.len(), passed.iter().map(why).collect())
        };
        let all = ImportSource::open(file.try_clone().unwrap(), None).unwrap();
        assert_eq!(all.format, Format::Pocket);
        let (kept, left) = counted(all);
        assert_eq!(kept, 2);
        assert!(left.iter().any(|why| why.contains("annotations/part_000000.json")), "{left:?}");
        let named = ImportSource::open(file.try_clone().unwrap(), Some(Format::Pocket)).unwrap();
        assert_eq!(counted(named).0, 1);
    }

    #[test]
    fn packed_tables_are_read_in_sequence() {
        let header = "title,url,time_added,tags,status\n";
        let file = zip_file(&[
            ("part_000001.csv", format!("{header}B,https://a.example/2,1,,unread\n").as_bytes()),
            ("part_000000.csv", format!("{header}A,https://a.example/1,1,,unread\n").as_bytes()),
        ]);

        let source = ImportSource::open(file.try_clone().unwrap(), None).unwrap();

        assert_eq!((source.format, source.rows.count()), (Format::Pocket, 2));
    }
}
