//! A file of another program, opened: what it is, and its rows.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use serde_json::{Map, Value, from_slice};

use super::super::article::{NAME, floods_a_tokenizer};
use super::archive::{Archive, MAGIC};
use super::format::Format;
use super::lines::{Line, Lines};
use super::row::{Found, Row, Save};
use super::wire::NoImport;
use super::{browser, karakeep, links, linkwarden, objects, omnivore, onetab, own, tables};
use crate::adapters::sandbox::feed;

/// A file that is read whole may have so many bytes.
const WHOLE: u64 = 256 << 20;
/// So many bytes tell what a text is.
const HEAD: usize = 64 << 10;

/// See the file's head.
pub struct Source {
    /// Which program wrote it.
    pub format: Format,
    /// Columns of a table that are not read.
    pub unread_columns: Vec<String>,
    /// Its rows.
    pub rows: Box<dyn Iterator<Item = Row>>,
    /// The archive, for the files in it.
    pub archive: Option<Archive>,
}

impl Source {
    fn of(format: Format, rows: impl Iterator<Item = Row> + 'static) -> Self {
        Self { format, unread_columns: Vec::new(), rows: Box::new(rows), archive: None }
    }

    /// Looks at a file; with a format that the person named, at nothing else.
    pub fn open(file: File, wanted: Option<Format>) -> Result<Self, NoImport> {
        let file = Arc::new(file);
        let head = head(&file).map_err(|_| NoImport::Damaged)?;
        let found = if head.starts_with(MAGIC) { archive(file, wanted) } else { text(&file, &head, wanted) };
        let found = found?;
        match wanted {
            Some(wanted) if wanted != found.format => Err(NoImport::Other),
            Some(_) | None => Ok(found),
        }
    }
}

fn head(file: &File) -> io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD];
    let read = file.read_at(&mut head, 0)?;
    head.truncate(read);
    Ok(head)
}

fn archive(file: Arc<File>, wanted: Option<Format>) -> Result<Source, NoImport> {
    let mut archive = Archive::open(file.clone())?;
    let names = archive.names();
    if names.iter().any(|name| name == own::SIGN) {
        let rows = own::read(archive)?;
        return Ok(Source { archive: Some(Archive::open(file)?), ..Source::of(Format::Carrel, rows) });
    }
    if omnivore::fits(&names) {
        let rows = omnivore::read(archive)?;
        let unread_columns = omnivore::UNREAD.iter().map(|name| (*name).to_owned()).collect();
        let archive = Some(Archive::open(file)?);
        return Ok(Source { archive, unread_columns, ..Source::of(Format::Omnivore, rows) });
    }
    // Pocket, for one, packs its tables.
    let mut packed: Vec<_> = names.into_iter().filter(|name| is_packed_list(name)).collect();
    packed.sort();
    let (mut found, mut left): (Vec<(String, Source)>, Vec<String>) = (Vec::new(), Vec::new());
    for name in packed {
        let bytes = archive.list(&name, WHOLE as usize)?;
        // What lies beside the lists is none of them, or not what was asked for.
        match decoded(&bytes, wanted) {
            Ok(source) if wanted.is_none_or(|wanted| wanted == source.format) => found.push((name, source)),
            Ok(_) | Err(_) => left.push(name),
        }
    }
    if found.iter().any(|(_, source)| source.format != Format::Objects) {
        // Annotations and settings beside a program's lists look like lists of objects too.
        let beside = found.extract_if(.., |(_, source)| source.format == Format::Objects);
        left.extend(beside.map(|(name, _)| name));
    }
    let Some((_, first)) = found.first() else { return Err(NoImport::Unknown) };
    let (format, unread_columns) = (first.format, first.unread_columns.clone());
    let mut rows: Vec<Row> = found.into_iter().flat_map(|(_, source)| source.rows).collect();
    rows.extend(left.into_iter().map(|name| unread(&name)));
    Ok(Source { unread_columns, ..Source::of(format, rows.into_iter()) })
}

/// A file of an archive that is left, so that its person knows.
pub(super) fn unread(name: &str) -> Row {
    let name = text::cut(&text::one_line(name), NAME);
    Row { line: 1, found: Found::Passed(format!("is a file that is not read: {name}")) }
}

fn is_packed_list(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [".csv", ".html", ".htm", ".json", ".opml"].iter().any(|end| lower.ends_with(end))
        && !lower.contains("__macosx")
}

fn text(file: &Arc<File>, head: &[u8], wanted: Option<Format>) -> Result<Source, NoImport> {
    if wanted == Some(Format::Jsonl) || (wanted.is_none() && is_jsonl(head)) {
        return Ok(Source::of(Format::Jsonl, jsonl(file)?));
    }
    let mut bytes = Vec::new();
    let whole = opened(file).and_then(|mut from| from.by_ref().take(WHOLE + 1).read_to_end(&mut bytes));
    whole.map_err(|_| NoImport::Damaged)?;
    if bytes.len() as u64 > WHOLE {
        return Err(NoImport::TooLarge);
    }
    decoded(&bytes, wanted)
}

/// The file from its beginning: whoever had it before may have read it.
fn opened(file: &Arc<File>) -> io::Result<BufReader<File>> {
    let mut file = file.try_clone()?;
    file.rewind()?;
    Ok(BufReader::new(file))
}

/// Whether the first line is an object with an address.
fn is_jsonl(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let Some(line) = head.split(|byte| *byte == b'\n').next() else { return false };
    // A first line that is longer than the head is one with a page in it.
    let cut = line.len() == head.len() && line.starts_with(b"{\"url\"");
    cut || from_slice::<Map<String, Value>>(line).is_ok_and(|members| members.contains_key("url"))
}

fn jsonl(file: &Arc<File>) -> Result<impl Iterator<Item = Row> + use<>, NoImport> {
    let mut lines = Lines::of(opened(file).map_err(|_| NoImport::Damaged)?);
    Ok(std::iter::from_fn(move || {
        lines.row(|content| match content {
            Line::Whole(bytes) => match from_slice::<Value>(&bytes) {
                Ok(Value::Object(fields)) if fields.values().any(is_endless) => {
                    Found::Passed("has a list that is too long".to_owned())
                }
                Ok(Value::Object(fields)) => Found::Save(Save { fields, ..Save::default() }),
                Ok(_) => Found::Passed("must be a JSON object".to_owned()),
                Err(_) => Found::Passed("is not valid JSON in UTF-8".to_owned()),
            },
            Line::TooLong => Found::Passed("is longer than 64 MiB".to_owned()),
        })
    }))
}

/// Whether a field is a list longer than any honest one: in memory it is many times as long.
fn is_endless(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.len() > 10_000)
}

/// A file that was read whole.
fn decoded(bytes: &[u8], wanted: Option<Format>) -> Result<Source, NoImport> {
    let text = web::decode_text(bytes);
    let start = start_of(&text);
    if start.starts_with('{') || start.starts_with('[') {
        return json(&text, wanted);
    }
    if start.contains("<opml") {
        let list = feed::read_opml(&text).ok_or(NoImport::Unknown)?;
        if list.feeds.is_empty() && holds(&text, "xmlurl") {
            return Err(NoImport::Damaged);
        }
        let broken = list.broken.then(|| Found::Passed("the list cannot be read on from here".to_owned()));
        let found = list.feeds.into_iter().map(Found::Feed).chain(broken);
        return Ok(Source::of(Format::Opml, found.zip(1..).map(|(found, line)| Row { line, found })));
    }
    if start.starts_with('<') {
        if floods_a_tokenizer(&text) {
            return Err(NoImport::Damaged);
        }
        let rows = links::read(&text);
        if rows.is_empty() && holds(&text, "href=") {
            return Err(NoImport::Damaged);
        }
        let known = !rows.is_empty() || start.contains("netscape-bookmark-file");
        return known.then(|| Source::of(Format::Netscape, rows.into_iter())).ok_or(NoImport::Unknown);
    }
    if let Some(table) = tables::of(&text, wanted) {
        let source = Source::of(table.format, table.rows(&text));
        return Ok(Source { unread_columns: table.unread(&text), ..source });
    }
    let is_list = wanted == Some(Format::Onetab) || onetab::fits(&start);
    is_list.then(|| Source::of(Format::Onetab, onetab::read(&text).into_iter())).ok_or(NoImport::Unknown)
}

/// A file that is one value in JSON.
fn json(text: &str, wanted: Option<Format>) -> Result<Source, NoImport> {
    let is = |format| wanted.is_none_or(|wanted| wanted == format);
    if let Some(export) = from_slice(text.as_bytes()).ok().filter(|_| is(Format::Linkwarden)) {
        return Ok(Source::of(Format::Linkwarden, linkwarden::read(export).into_iter()));
    }
    let file: Value = from_slice(text.as_bytes()).map_err(|_| NoImport::Unknown)?;
    if is(Format::Karakeep)
        && karakeep::is_one(&file)
        && let Ok(export) = from_slice(text.as_bytes())
    {
        return Ok(Source::of(Format::Karakeep, karakeep::read(export).into_iter()));
    }
    if let Some(roots) = browser::roots(&file) {
        return Ok(Source::of(Format::Browser, browser::read(&roots).into_iter()));
    }
    let list = objects::list(file).ok_or(NoImport::Unknown)?;
    Ok(Source::of(Format::Objects, objects::read(list).into_iter()))
}

/// Whether a word stands in a text, in letters of any size.
fn holds(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// The first few characters, in small letters.
fn start_of(text: &str) -> String {
    text.trim_start().chars().take(4096).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::archive::tests::packed;
    use super::*;

    fn opened(bytes: &[u8], wanted: Option<Format>) -> Result<(Format, Vec<Row>), NoImport> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        Source::open(file, wanted).map(|source| (source.format, source.rows.collect()))
    }

    #[test]
    fn a_file_is_known_by_what_stands_in_it() {
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
            assert_eq!(opened(bytes, None).err(), Some(NoImport::Unknown));
        }
        assert!(opened(b"https://a.example", Some(Format::Opml)).is_err());
    }

    #[test]
    fn a_list_that_is_broken_before_its_first_row_is_not_taken_for_an_empty_one() {
        let endless = format!("<opml><body>{}", "<outline xmlUrl=\"https://a.example/f\"".repeat(1000));
        assert_eq!(opened(endless.as_bytes(), None).err(), Some(NoImport::Damaged));
    }

    /// Of the threat table (row P4).
    #[test]
    fn list_with_a_flood_of_attributes_is_damaged() {
        let attributes: String = (0..200_000).map(|n| format!(" a{n}=x")).collect();
        let list = format!("<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><DT><A{attributes}>A</A></DL>");
        assert_eq!(opened(list.as_bytes(), None).err(), Some(NoImport::Damaged));
    }

    #[test]
    fn a_list_in_an_old_encoding_is_read() {
        let html = b"<!DOCTYPE NETSCAPE-Bookmark-file-1><META HTTP-EQUIV=\"Content-Type\" CONTENT=\"text/html; charset=windows-1252\"><DL><DT><A HREF=\"https://a.example\">Gr\xfcn</A></DL>";
        let (_, rows) = opened(html, None).unwrap();
        assert!(matches!(&rows[0].found, Found::Save(save) if save.fields["title"] == "Grün"));
    }

    #[test]
    fn what_lies_beside_packed_tables_takes_nothing_away() {
        let table = "title,url,time_added,tags,status\nA,https://a.example/1,1,,unread\n";
        let file = packed(&[
            ("annotations/part_000000.json", br#"[{"url": "https://a.example/9", "quote": "words"}]"#),
            ("part_000000.csv", table.as_bytes()),
            ("read me.html", b"<p>Words"),
            ("z.html", b"<DL><DT><A HREF=\"https://a.example/2\">B</A></DL>"),
        ]);

        let told = |source: Source| -> (usize, Vec<String>) {
            let (passed, kept): (Vec<_>, Vec<_>) =
                source.rows.map(|row| row.found).partition(|found| matches!(found, Found::Passed(_)));
            let why = |found: &Found| format!("{found:?}");
            (kept.len(), passed.iter().map(why).collect())
        };
        let all = Source::open(file.try_clone().unwrap(), None).unwrap();
        assert_eq!(all.format, Format::Pocket);
        let (kept, left) = told(all);
        assert_eq!(kept, 2);
        assert!(left.iter().any(|why| why.contains("annotations/part_000000.json")), "{left:?}");
        let named = Source::open(file.try_clone().unwrap(), Some(Format::Pocket)).unwrap();
        assert_eq!(told(named).0, 1);
    }

    #[test]
    fn packed_tables_are_read_one_after_the_other() {
        let header = "title,url,time_added,tags,status\n";
        let file = packed(&[
            ("part_000001.csv", format!("{header}B,https://a.example/2,1,,unread\n").as_bytes()),
            ("part_000000.csv", format!("{header}A,https://a.example/1,1,,unread\n").as_bytes()),
        ]);

        let source = Source::open(file.try_clone().unwrap(), None).unwrap();

        assert_eq!((source.format, source.rows.count()), (Format::Pocket, 2));
    }
}
