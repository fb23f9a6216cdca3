//! Omnivore's archive: `metadata_N_to_M.json`, pages and PDFs in `content/`, highlights in `highlights/`.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::from_slice;

use super::annotation::Annotation;
use super::import_error::ImportError;
use super::lenient::{Lenient, null_as_default};
use super::row::{ForeignBookmark, MAX_CONTENT_BYTES, Row, RowContent};
use super::time_formats::parse_time;
use super::zip_reader::ZipReader;
use crate::archive::FileRecord;

/// The longest list of pages, in bytes.
const MAX_LIST_BYTES: usize = 64 << 20;
/// The longest file of highlights, in bytes.
const MAX_HIGHLIGHTS_BYTES: usize = 1 << 20;

/// Fields of its lists that are not read.
pub const UNREAD_FIELDS: [&str; 3] = ["author", "description", "thumbnail"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OmnivorePage {
    slug: Option<String>,
    title: Option<String>,
    url: Option<String>,
    state: Option<String>,
    reading_progress: Option<f64>,
    #[serde(default, deserialize_with = "null_as_default")]
    labels: Vec<String>,
    saved_at: Option<String>,
}

/// Returns whether an archive was written by Omnivore.
pub fn is_omnivore(names: &[String]) -> bool {
    names.iter().any(|name| is_list(name))
}

fn is_list(name: &str) -> bool {
    file_name(name).starts_with("metadata_") && name.ends_with(".json")
}

/// A file's name without its folders.
fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Reads every page, list by list.
pub fn read_rows(mut archive: ZipReader) -> Result<impl Iterator<Item = Row>, ImportError> {
    let (mut lists, beside): (Vec<String>, Vec<String>) =
        archive.entry_names().into_iter().partition(|name| is_list(name));
    // By number: as texts, `metadata_100_to_119` would come before `metadata_20_to_39`.
    lists.sort_by_key(|name| first_number(file_name(name)));
    // An archive that was packed again may have everything in a folder.
    let folder =
        lists.first().and_then(|list| list.strip_suffix(file_name(list))).unwrap_or_default().to_owned();
    let papers = beside.into_iter().filter(|name| name.to_ascii_lowercase().ends_with(".pdf"));
    let mut papers: HashSet<String> = papers.collect();
    let mut all = Vec::new();
    for name in lists {
        let list = archive.read_entry(&name, MAX_LIST_BYTES).ok_or(ImportError::TooLarge)?;
        // A damaged list fails the whole import, because nothing says which of its pages are missing.
        all.extend(from_slice::<Vec<Lenient<OmnivorePage>>>(&list).map_err(|_| ImportError::Damaged)?);
    }
    // Each PDF belongs to the first row that names it.
    let own = |saved: Lenient<OmnivorePage>| {
        let slug = match &saved {
            Lenient::Valid(saved) => saved.slug.as_deref().unwrap_or_default(),
            Lenient::Named(_) | Lenient::Invalid(_) => "",
        };
        let paper = papers.take(&format!("{folder}content/{slug}.pdf"));
        (saved, paper)
    };
    let all: Vec<_> = all.into_iter().map(own).collect();
    let mut left: Vec<_> = papers.into_iter().collect();
    // A set has no order, and the report must be the same for the same file.
    left.sort();
    let pages = all.into_iter().zip(1..).map(move |((saved, paper), line)| {
        let content = saved.content(|saved| convert(saved, paper, &folder, &mut archive));
        Row { line, content }
    });
    // PDFs that no list names are reported, so that the user knows that they were not imported.
    Ok(pages.chain(left.into_iter().map(|name| Row::skipped_file(&name))))
}

fn first_number(name: &str) -> u64 {
    let digits: String =
        name.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

fn convert(saved: OmnivorePage, paper: Option<String>, folder: &str, archive: &mut ZipReader) -> RowContent {
    let Some(url) = saved.url else {
        return RowContent::skipped_with_name("has no URL", saved.title);
    };
    let slug = saved.slug.unwrap_or_default();
    // A page whose file is too long, or another row's, is fetched instead.
    let mut packed = |name: String, most| {
        let bytes = archive.claim_text(&name, most).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let marked = packed(format!("{folder}highlights/{slug}.md"), MAX_HIGHLIGHTS_BYTES);
    let (notes, marked) = marked.as_deref().map(parse_highlights).unwrap_or_default();
    let html = packed(format!("{folder}content/{slug}.html"), MAX_CONTENT_BYTES);
    // Omnivore counts in per cent.
    let progress = saved.reading_progress.map(|percent| percent / 100.0);
    let page = ForeignBookmark {
        url,
        title: saved.title,
        tags: saved.labels,
        notes,
        annotations: marked,
        saved_at: saved.saved_at.and_then(|at| parse_time(&at)),
        archived: saved.state.is_some_and(|state| state.eq_ignore_ascii_case("archived")),
        progress,
        html,
        file: paper.and_then(|path| file(path, archive)),
        ..ForeignBookmark::default()
    };
    page.into()
}

/// Parses the notes of a page and its highlights: quotations, each followed by its note.
fn parse_highlights(text: &str) -> (Vec<String>, Vec<Annotation>) {
    let (mut blocks, mut notes): (Vec<(String, String)>, String) = (Vec::new(), String::new());
    let mut within = false;
    for line in text.lines() {
        let quoted = line.strip_prefix('>').map(|line| line.strip_prefix(' ').unwrap_or(line));
        match (quoted, blocks.last_mut()) {
            // Lines of one quotation follow each other; a line between two quotations is the note of the first.
            (Some(line), Some((words, _))) if within => *words += &format!("\n{line}"),
            (Some(line), _) => blocks.push((line.to_owned(), String::new())),
            (None, Some((_, beside))) => *beside += &format!("{line}\n"),
            (None, None) => notes += &format!("{line}\n"),
        }
        within = quoted.is_some();
    }
    let notes = Some(notes).filter(|notes| !notes.trim().is_empty());
    let marked = blocks.iter().map(|(words, beside)| Annotation::new(words, Some(beside)));
    (notes.into_iter().collect(), marked.collect())
}

/// A PDF of the archive.
fn file(path: String, archive: &mut ZipReader) -> Option<FileRecord> {
    Some(FileRecord {
        filename: file_name(&path).to_owned(),
        content_type: "application/pdf".to_owned(),
        bytes: archive.entry_length(&path)?,
        sha256: None,
        path,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn text_file_belongs_to_one_page_only() {
        let list: Vec<_> =
            (0..9).map(|n| json!({"slug": "s", "url": format!("https://a.example/{n}")})).collect();
        let list = json!(list).to_string();
        let file = zip_file(&[("metadata_0_to_9.json", list.as_bytes()), ("content/s.html", b"<p>Words")]);

        let rows: Vec<_> = read_rows(ZipReader::open(file).unwrap()).unwrap().collect();

        let has_text = |row: &&Row| matches!(&row.content, RowContent::Bookmark(save) if save.fields.contains_key("html"));
        assert_eq!((rows.len(), rows.iter().filter(has_text).count()), (9, 1));
    }

    use super::super::zip_reader::tests::zip_file;
    use super::*;

    #[test]
    fn pages_have_their_stored_content() {
        let late = json!([{"slug": "two", "url": "https://a.example/2", "state": "Archived", "readingProgress": 50}]).to_string();
        let early = json!([{"id": "x", "slug": "one", "title": "One", "url": "https://a.example/1", "state": "Active", "labels": ["a"], "savedAt": "2023-11-14T22:13:20.000Z"}]).to_string();
        let file = zip_file(&[
            ("metadata_20_to_39.json", late.as_bytes()),
            ("metadata_0_to_19.json", early.as_bytes()),
            ("content/one.html", b"<p>Words"),
            ("highlights/one.md", b"Of it all\n\n> marked\n> twice\n\nBeside it\n\n> more"),
        ]);
        let archive = ZipReader::open(file).unwrap();
        assert!(is_omnivore(&archive.entry_names()));

        let rows: Vec<_> = read_rows(archive).unwrap().collect();

        let RowContent::Bookmark(first) = &rows[0].content else { panic!() };
        assert_eq!(
            Value::Object(first.fields.clone()),
            json!({"url": "https://a.example/1", "title": "One", "tags": ["a"], "savedAt": "2023-11-14T22:13:20Z", "html": "<p>Words", "notes": "Of it all"})
        );
        let marks = [Annotation::new("marked\ntwice", Some("Beside it")), Annotation::new("more", None)];
        assert_eq!(first.annotations, marks);
        let RowContent::Bookmark(second) = &rows[1].content else { panic!() };
        assert_eq!((rows[1].line, second.progress, &second.fields["archived"]), (2, Some(0.5), &json!(true)));
    }

    #[test]
    fn faulty_page_is_named_by_its_title_or_url() {
        let list =
            json!([{"title": "One"}, {"title": 2, "url": "https://a.example/2", "labels": "a"}, "three"]);
        let file = zip_file(&[("metadata_0_to_9.json", list.to_string().as_bytes())]);

        let rows: Vec<_> =
            read_rows(ZipReader::open(file).unwrap()).unwrap().map(|row| row.content).collect();

        let named = |reason: &str, name: &str| RowContent::skipped_with_name(reason, Some(name.to_owned()));
        assert_eq!(
            rows,
            [
                named("has no URL", "One"),
                named("cannot be read", "https://a.example/2"),
                RowContent::skipped("cannot be read"),
            ]
        );
    }

    #[test]
    fn file_belongs_to_the_first_row_that_names_it() {
        let row = |n: u8| json!({"slug": "p", "url": format!("https://a.example/{n}.pdf")});
        let list = json!([row(1), row(2)]).to_string();
        let file = zip_file(&[
            ("export/metadata_0_to_9.json", list.as_bytes()),
            ("export/content/p.pdf", b"%PDF-1.4"),
            ("export/content/other.pdf", b"%PDF-1.4"),
        ]);

        let rows: Vec<_> =
            read_rows(ZipReader::open(file).unwrap()).unwrap().map(|row| row.content).collect();

        let [RowContent::Bookmark(first), RowContent::Bookmark(second), RowContent::Skipped(why)] = &rows[..]
        else {
            panic!("{rows:?}")
        };
        let paper = first.file.as_ref().unwrap();
        assert_eq!(
            (paper.path.as_str(), paper.filename.as_str(), paper.bytes),
            ("export/content/p.pdf", "p.pdf", 8)
        );
        assert!(second.file.is_none() && why.reason.ends_with("export/content/other.pdf"), "{rows:?}");
    }
}
