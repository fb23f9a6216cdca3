//! Omnivore's archive: `metadata_N_to_M.json`, each page or paper as it was in `content/`, what was marked in `highlights/`.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::from_slice;

use super::archive::Archive;
use super::lenient::{OneOf, or_default};
use super::mark::Mark;
use super::moment::moment;
use super::row::{Found, Page, Row};
use super::source::unread;
use super::{CONTENT, NoImport};
use crate::archive::File;

/// Bytes of one list of pages.
const LIST: usize = 64 << 20;
/// Bytes of what was marked in a page.
const MARKED: usize = 1 << 20;

/// What its lists say beside what is read.
pub const UNREAD: [&str; 3] = ["author", "description", "thumbnail"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Saved {
    slug: Option<String>,
    title: Option<String>,
    url: Option<String>,
    state: Option<String>,
    reading_progress: Option<f64>,
    #[serde(default, deserialize_with = "or_default")]
    labels: Vec<String>,
    saved_at: Option<String>,
}

/// Whether an archive is one of Omnivore's.
pub fn fits(names: &[String]) -> bool {
    names.iter().any(|name| is_list(name))
}

fn is_list(name: &str) -> bool {
    last(name).starts_with("metadata_") && name.ends_with(".json")
}

/// A file's name without its folders.
fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Every page, list by list.
pub fn read(mut archive: Archive) -> Result<impl Iterator<Item = Row>, NoImport> {
    let (mut lists, beside): (Vec<String>, Vec<String>) =
        archive.names().into_iter().partition(|name| is_list(name));
    lists.sort_by_key(|name| first_number(last(name)));
    // Who packs it anew may put all of it into a folder.
    let folder = lists.first().and_then(|list| list.strip_suffix(last(list))).unwrap_or_default().to_owned();
    let papers = beside.into_iter().filter(|name| name.to_ascii_lowercase().ends_with(".pdf"));
    let mut papers: HashSet<String> = papers.collect();
    let mut all = Vec::new();
    for name in lists {
        let list = archive.short(&name, LIST).ok_or(NoImport::TooLarge)?;
        all.extend(from_slice::<Vec<OneOf<Saved>>>(&list).map_err(|_| NoImport::Damaged)?);
    }
    // Each belongs to one row: the first that names it.
    let own = |saved: OneOf<Saved>| {
        let slug = match &saved {
            OneOf::Known(saved) => saved.slug.as_deref().unwrap_or_default(),
            OneOf::Odd(_) => "",
        };
        let paper = papers.take(&format!("{folder}content/{slug}.pdf"));
        (saved, paper)
    };
    let all: Vec<_> = all.into_iter().map(own).collect();
    let mut left: Vec<_> = papers.into_iter().collect();
    left.sort();
    let pages = all.into_iter().zip(1..).map(move |((saved, paper), line)| {
        let found = saved.found(|saved| found(saved, paper, &folder, &mut archive));
        Row { line, found }
    });
    Ok(pages.chain(left.into_iter().map(|name| unread(&name))))
}

fn first_number(name: &str) -> u64 {
    let digits: String =
        name.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

fn found(saved: Saved, paper: Option<String>, folder: &str, archive: &mut Archive) -> Found {
    let Some(url) = saved.url else { return Found::Passed("has no address".to_owned()) };
    let slug = saved.slug.unwrap_or_default();
    // One that is too long here, or another row's, is fetched instead.
    let mut packed = |name: String, most| {
        let bytes = archive.text(&name, most).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let marked = packed(format!("{folder}highlights/{slug}.md"), MARKED);
    let (notes, marked) = marked.as_deref().map(marks).unwrap_or_default();
    let html = packed(format!("{folder}content/{slug}.html"), CONTENT);
    let progress = saved.reading_progress.map(|percent| percent / 100.0);
    let page = Page {
        url,
        title: saved.title,
        tags: saved.labels,
        notes,
        marked,
        saved_at: saved.saved_at.and_then(|at| moment(&at)),
        archived: saved.state.is_some_and(|state| state.eq_ignore_ascii_case("archived")),
        progress,
        html,
        file: paper.and_then(|path| file(path, archive)),
        ..Page::default()
    };
    page.into()
}

/// What was written of a page, and marked in it: quotations, each with what was written beside it below.
fn marks(text: &str) -> (Vec<String>, Vec<Mark>) {
    let (mut blocks, mut notes): (Vec<(String, String)>, String) = (Vec::new(), String::new());
    let mut within = false;
    for line in text.lines() {
        let quoted = line.strip_prefix('>').map(|line| line.strip_prefix(' ').unwrap_or(line));
        match (quoted, blocks.last_mut()) {
            (Some(line), Some((words, _))) if within => *words += &format!("\n{line}"),
            (Some(line), _) => blocks.push((line.to_owned(), String::new())),
            (None, Some((_, beside))) => *beside += &format!("{line}\n"),
            (None, None) => notes += &format!("{line}\n"),
        }
        within = quoted.is_some();
    }
    let notes = Some(notes).filter(|notes| !notes.trim().is_empty());
    let marked = blocks.iter().map(|(words, beside)| Mark::of(words, Some(beside)));
    (notes.into_iter().collect(), marked.collect())
}

/// A paper of the archive.
fn file(path: String, archive: &mut Archive) -> Option<File> {
    Some(File {
        filename: last(&path).to_owned(),
        content_type: "application/pdf".to_owned(),
        bytes: archive.length(&path)?,
        sha256: None,
        path,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn one_text_is_not_the_text_of_many_pages() {
        let list: Vec<_> =
            (0..9).map(|n| json!({"slug": "s", "url": format!("https://a.example/{n}")})).collect();
        let list = json!(list).to_string();
        let file = packed(&[("metadata_0_to_9.json", list.as_bytes()), ("content/s.html", b"<p>Words")]);

        let rows: Vec<_> = read(Archive::open(file).unwrap()).unwrap().collect();

        let has_text =
            |row: &&Row| matches!(&row.found, Found::Save(save) if save.fields.contains_key("html"));
        assert_eq!((rows.len(), rows.iter().filter(has_text).count()), (9, 1));
    }

    use super::super::archive::tests::packed;
    use super::*;

    #[test]
    fn pages_come_with_what_was_kept_of_them() {
        let late = json!([{"slug": "two", "url": "https://a.example/2", "state": "Archived", "readingProgress": 50}]).to_string();
        let early = json!([{"id": "x", "slug": "one", "title": "One", "url": "https://a.example/1", "state": "Active", "labels": ["a"], "savedAt": "2023-11-14T22:13:20.000Z"}]).to_string();
        let file = packed(&[
            ("metadata_20_to_39.json", late.as_bytes()),
            ("metadata_0_to_19.json", early.as_bytes()),
            ("content/one.html", b"<p>Words"),
            ("highlights/one.md", b"Of it all\n\n> marked\n> twice\n\nBeside it\n\n> more"),
        ]);
        let archive = Archive::open(file).unwrap();
        assert!(fits(&archive.names()));

        let rows: Vec<_> = read(archive).unwrap().collect();

        let Found::Save(first) = &rows[0].found else { panic!() };
        assert_eq!(
            Value::Object(first.fields.clone()),
            json!({"url": "https://a.example/1", "title": "One", "tags": ["a"], "savedAt": "2023-11-14T22:13:20Z", "html": "<p>Words", "notes": "Of it all"})
        );
        let marks = [Mark::of("marked\ntwice", Some("Beside it")), Mark::of("more", None)];
        assert_eq!(first.marked, marks);
        let Found::Save(second) = &rows[1].found else { panic!() };
        assert_eq!((rows[1].line, second.progress, &second.fields["archived"]), (2, Some(0.5), &json!(true)));
    }

    #[test]
    fn a_paper_belongs_to_the_first_row_that_names_it() {
        let row = |n: u8| json!({"slug": "p", "url": format!("https://a.example/{n}.pdf")});
        let list = json!([row(1), row(2)]).to_string();
        let file = packed(&[
            ("export/metadata_0_to_9.json", list.as_bytes()),
            ("export/content/p.pdf", b"%PDF-1.4"),
            ("export/content/other.pdf", b"%PDF-1.4"),
        ]);

        let rows: Vec<_> = read(Archive::open(file).unwrap()).unwrap().map(|row| row.found).collect();

        let [Found::Save(first), Found::Save(second), Found::Passed(why)] = &rows[..] else {
            panic!("{rows:?}")
        };
        let paper = first.file.as_ref().unwrap();
        assert_eq!(
            (paper.path.as_str(), paper.filename.as_str(), paper.bytes),
            ("export/content/p.pdf", "p.pdf", 8)
        );
        assert!(second.file.is_none() && why.ends_with("export/content/other.pdf"), "{rows:?}");
    }
}
