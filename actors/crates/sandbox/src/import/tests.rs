//! Files as other programs wrote them, through a real child.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;

use parse::bookmarks::{Format, ImportError, RowContent};

use super::wire::MAX_ROWS;
use crate::SandboxError;
use crate::tests::{sandbox, shared};

/// The number of bookmarks in the files of the shared set, counted independently: anchors by their tags, lists with a JSON parser.
const WALLABAG: [(&str, Format, usize); 14] = [
    ("chrome-bookmarks", Format::Browser, 1),
    ("delicious_export.2021.02.06_21.10.json", Format::Objects, 3),
    ("elcurator.json", Format::Objects, 1),
    ("firefox-bookmarks.json", Format::Browser, 2),
    ("instapaper-export.csv", Format::Instapaper, 4),
    ("omnivore.json", Format::Objects, 20),
    ("pinboard_export", Format::Objects, 3),
    ("pocket.csv", Format::Pocket, 7),
    ("readability.json", Format::Objects, 3),
    ("ril_export.html", Format::Netscape, 2),
    ("shaarli-bookmarks.html", Format::Netscape, 2),
    ("wallabag-v1-read.json", Format::Objects, 3),
    ("wallabag-v1.json", Format::Objects, 2),
    ("wallabag-v2.json", Format::Objects, 6),
];
/// Files of the set that hold nothing at all.
const EMPTY: [&str; 5] = ["empty.htm", "test.csv", "test.html", "test.txt", "wallabag-v2-empty.json"];

/// Returns the file's format and how many saves it holds; every row is read.
async fn read(path: &Path) -> Result<(Format, usize), SandboxError> {
    let mut import = sandbox().open_import(File::open(path).unwrap(), None).await?;
    let mut saves = 0;
    loop {
        let rows = import.next_rows(100).await?;
        if rows.is_empty() {
            return Ok((import.format(), saves));
        }
        for row in &rows {
            assert!(!matches!(row.content, RowContent::Skipped(_)), "{}: {row:?}", path.display());
        }
        saves += rows.len();
    }
}

#[tokio::test]
async fn every_bookmark_of_the_shared_lists_is_read() {
    for path in shared("imports/netscape") {
        let links =
            String::from_utf8_lossy(&std::fs::read(&path).unwrap()).to_lowercase().matches("<a ").count();
        match read(&path).await {
            Ok(found) => assert_eq!(found, (Format::Netscape, links), "{}", path.display()),
            Err(SandboxError::Import(ImportError::UnknownFormat)) => {
                assert!(path.ends_with("empty.htm"), "{}", path.display())
            }
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
}

#[tokio::test]
async fn every_row_of_shared_files_of_other_programs_is_read() {
    for path in shared("imports/wallabag") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let wanted = WALLABAG.into_iter().find(|(known, _, _)| *known == name);
        match (read(&path).await, wanted) {
            (Ok(found), Some((_, format, rows))) => assert_eq!(found, (format, rows), "{name}"),
            (Ok((_, rows)), None) => assert!(rows > 0, "{name}"),
            (Err(SandboxError::Import(ImportError::UnknownFormat)), None) => {
                assert!(EMPTY.contains(&name.as_str()), "{name}")
            }
            (Err(error), _) => panic!("{name}: {error}"),
        }
    }
}

#[tokio::test]
async fn response_has_at_most_as_many_rows_as_were_requested() {
    let mut file = tempfile::tempfile().unwrap();
    for n in 0..MAX_ROWS + 200 {
        writeln!(file, "{{\"url\": \"https://k.example/{n}\"}}").unwrap();
    }
    file.rewind().unwrap();
    let mut import = sandbox().open_import(file, Some(Format::Jsonl)).await.unwrap();

    let mut lengths = Vec::new();
    for max in [1, 99, usize::MAX, 1000, 1] {
        lengths.push(import.next_rows(max).await.unwrap().len());
    }

    assert_eq!(lengths, [1, 99, MAX_ROWS, 100, 0]);
}
