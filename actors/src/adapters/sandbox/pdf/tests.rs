//! Whole PDFs: made here, mutilated here, and those of the shared set where it is there.

use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::super::tests::{command, shared};
use super::super::{PdfText, Sandbox, SandboxError, SandboxSettings};
use super::{NoText, PAGE_END, read};

/// A PDF of these page contents, in Helvetica, whose objects from number 100 on are given.
fn pdf(pages: &[&str], more: &[(u32, &str)]) -> Vec<u8> {
    let kids: String = (0..pages.len()).map(|n| format!("{} 0 R ", 10 + 2 * n)).collect();
    let mut objects = vec![
        (1, "<</Type/Catalog/Pages 2 0 R/Lang(de-AT)/Outlines 100 0 R>>".to_owned()),
        (2, format!("<</Type/Pages/Kids[{kids}]/Count {}>>", pages.len())),
        (3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned()),
        (4, "<</Title(A paper)/Author(\\376\\377\\000\\334)/Subject(Ants)/CreationDate(D:20240506070809+02'00)>>".to_owned()),
    ];
    for (n, content) in (0u32..).zip(pages) {
        let resources = "<</Font<</F 3 0 R>>/XObject<</X 101 0 R>>>>";
        let box_ = "/MediaBox[0 0 600 800]";
        let at = 10 + 2 * n;
        objects.push((
            at,
            format!("<</Type/Page/Parent 2 0 R{box_}/Resources{resources}/Contents {} 0 R>>", at + 1),
        ));
        objects.push((at + 1, format!("<</Length {}>>stream\n{content}\nendstream", content.len())));
    }
    objects.extend(more.iter().map(|(number, body)| (*number, (*body).to_owned())));
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let mut table = String::new();
    for (number, body) in &objects {
        table.push_str(&format!("{number} 1\n{:010} 00000 n \n", bytes.len()));
        bytes.extend_from_slice(format!("{number} 0 obj\n{body}\nendobj\n").as_bytes());
    }
    let at = bytes.len();
    let size = objects.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
    let end = format!("xref\n{table}trailer<</Size {size}/Root 1 0 R/Info 4 0 R>>\nstartxref\n{at}\n%%EOF");
    bytes.extend_from_slice(end.as_bytes());
    bytes
}

fn said(text: &str) -> String {
    format!("BT /F 12 Tf 50 700 Td ({text}) Tj ET")
}

#[test]
fn a_file_that_stops_before_its_end_says_so() {
    let whole = pdf(&[&said("Words.")], &[]);
    let end = whole.windows(9).rposition(|window| window == b"startxref").unwrap();

    let (facts, text) = read(whole[..end].to_vec()).unwrap();
    assert_eq!((facts.cut_off, text.as_str()), (true, "Words."));
    assert!(!read(whole.clone()).unwrap().0.cut_off);
    for other in [&[0; 5_000][..], b" 2026 objects were 7 0 objective, in 5 object"] {
        assert!(!read([&whole[..], other].concat()).unwrap().0.cut_off, "something else behind it");
    }
    assert!(
        read([&whole[..], b"7 0 obj << /Length 9"].concat()).unwrap().0.cut_off,
        "another part was begun"
    );
}

#[test]
fn pages_and_what_the_document_says_of_itself_are_read() {
    let (facts, text) = read(pdf(&[&said("First page."), &said("Second page.")], &[])).unwrap();

    assert_eq!(text, format!("First page.{PAGE_END}Second page."));
    assert_eq!(facts.title.as_deref(), Some("A paper"));
    assert_eq!(facts.author.as_deref(), Some("Ü"));
    assert_eq!((facts.subject.as_deref(), facts.language.as_deref()), (Some("Ants"), Some("de")));
    assert_eq!(facts.made_on.as_deref(), Some("2024-05-06"));
}

#[test]
fn pages_that_are_pictures_among_others_are_counted() {
    let picture = "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>stream\na\nendstream";
    let scan = "q 600 0 0 800 0 0 cm /X Do Q";

    let (facts, text) = read(pdf(&[&said("Words."), scan, scan, ""], &[(101, picture)])).unwrap();

    assert_eq!((facts.pictures, facts.broken), (2, 0));
    assert_eq!(text, format!("Words.{PAGE_END}{PAGE_END}{PAGE_END}"));
}

#[test]
fn parts_of_the_outline_are_headings() {
    let page = "BT /F 12 Tf 14 TL 50 700 Td (Above) Tj T* (The part) Tj T* (below it) Tj ET";
    let outline = [(100, "<</First 102 0 R>>"), (102, "<</Title(The Part)/Dest[10 0 R/Fit]>>")];

    let (_, text) = read(pdf(&[page], &outline)).unwrap();

    assert_eq!(text, "Above\n\nThe part\n\nbelow it");
}

#[test]
fn a_replacement_stands_for_what_is_painted() {
    let page = "BT /F 12 Tf 50 700 Td (e) Tj /Span<</ActualText(ffi)>>BDC (x) Tj (y) Tj EMC (cient) Tj ET";

    assert_eq!(read(pdf(&[page], &[])).unwrap().1, "efficient");
}

#[test]
fn text_painted_twice_to_look_bold_is_read_once() {
    let page = "BT /F 12 Tf 50 700 Td (bold) Tj ET BT /F 12 Tf 50.3 700 Td (bold) Tj ET";

    assert_eq!(read(pdf(&[page], &[])).unwrap().1, "bold");
}

#[test]
fn text_that_runs_up_the_page_stands_behind_the_rest() {
    let page = format!("BT /F 12 Tf 0 1 -1 0 30 100 Tm (aside) Tj ET {}", said("the main text"));

    assert_eq!(read(pdf(&[&page], &[])).unwrap().1, "the main text\n\naside");
}

#[test]
fn what_has_no_text_says_why() {
    assert_eq!(read(Vec::new()).unwrap_err(), NoText::Damaged);
    assert_eq!(read(b"<html>no PDF</html>".to_vec()).unwrap_err(), NoText::Damaged);
    assert_eq!(read(pdf(&["0 0 100 100 re f"], &[])).unwrap_err(), NoText::Empty);
    let picture = "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>stream\nA\nendstream";
    assert_eq!(read(pdf(&["/X Do"], &[(101, picture)])).unwrap_err(), NoText::Pictures);
}

/// A file with a bit wrong in some of its bytes. A walk without chance: the same ones at every run.
fn flipped(whole: &[u8], step: usize) -> Vec<u8> {
    let wrong = |n: usize| u8::from((n * 7919 + step * 104_729).is_multiple_of(61)) << (step % 8);
    whole.iter().enumerate().map(|(n, byte)| byte ^ wrong(n)).collect()
}

/// Files that ask for trouble, each with a name.
fn mutilated() -> Vec<(String, Vec<u8>)> {
    let whole = pdf(&[&said("A whole page."), &said("And another.")], &[]);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for part in 1..8 {
        files.push((format!("cut after {part}/8"), whole[..whole.len() * part / 8].to_vec()));
    }
    for step in 0..24 {
        files.push((format!("flipped {step}"), flipped(&whole, step)));
    }
    let form = "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 101 0 R>>>>/Length 11>>stream\n/X Do /X Do\nendstream";
    files.push(("a form within itself".to_owned(), pdf(&["/X Do"], &[(101, form)])));
    let huge = "BT /F 99999999999999999999 Tf 1e38 0 0 1e38 1e38 -1e38 Tm (far) Tj ET 1e308 0 0 1e308 0 0 cm BT /F 1 Tf (x) Tj ET";
    files.push(("huge numbers".to_owned(), pdf(&[huge], &[])));
    files.push(("arrays within arrays".to_owned(), pdf(&[&"[".repeat(200_000)], &[])));
    files.push(("dictionaries within dictionaries".to_owned(), pdf(&[], &[(101, &"<</A".repeat(100_000))])));
    files.push((
        "saved states".to_owned(),
        pdf(&[&format!("{} {}", "q ".repeat(300_000), said("deep"))], &[]),
    ));
    files.push((
        "a tree of pages that is its own child".to_owned(),
        pdf(&[], &[(10, "<</Type/Pages/Kids[2 0 R 10 0 R]>>")]),
    ));
    files.push((
        "an outline in a circle".to_owned(),
        pdf(
            &[&said("round")],
            &[(100, "<</First 102 0 R>>"), (102, "<</Title(a)/Next 102 0 R/First 102 0 R>>")],
        ),
    ));
    files.push(("zeros".to_owned(), vec![0; 100_000]));
    files
}

fn sandbox() -> Sandbox {
    let documents = SandboxSettings {
        children: 2,
        wall: Duration::from_secs(60),
        cpu_seconds: 10,
        idle: Duration::from_secs(600),
        ..SandboxSettings::documents()
    };
    Sandbox::with_documents(command(), SandboxSettings::default(), documents)
}

async fn read_file(sandbox: &Sandbox, bytes: &[u8]) -> Result<PdfText, SandboxError> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    sandbox.pdf(&mut tokio::fs::File::from_std(file)).await
}

/// A file is read, or it is told why not.
async fn ends_well(sandbox: &Sandbox, name: &str, bytes: &[u8]) {
    match read_file(sandbox, bytes).await {
        Ok(_) | Err(SandboxError::NoText(_) | SandboxError::Crashed | SandboxError::TimedOut) => {}
        Err(other) => panic!("{name}: {other:?}"),
    }
}

/// The PDFs of the shared set, all of them where it is there at all.
fn papers() -> Vec<PathBuf> {
    let files: Vec<_> = ["pdf", "pdf-layout"].into_iter().flat_map(shared).collect();
    let is_there = !files.is_empty();
    let is_paper = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "pdf");
    let papers: Vec<_> = files.into_iter().filter(is_paper).collect();
    assert!(!is_there || papers.len() == 29 + 3, "{papers:?}");
    papers
}

/// A good file is read, whatever was read before it.
async fn works(sandbox: &Sandbox) {
    let read = read_file(sandbox, &pdf(&[&said("Still here.")], &[])).await.unwrap();

    assert_eq!(read.pages, ["Still here."]);
}

/// Of the threat table (row P1).
#[tokio::test]
async fn a_mutilated_file_ends_in_text_or_a_reason_and_the_next_one_is_read() {
    let sandbox = sandbox();

    for (name, bytes) in mutilated() {
        ends_well(&sandbox, &name, &bytes).await;
        works(&sandbox).await;
    }
}

/// Of the threat table (row P1).
#[tokio::test]
async fn files_of_real_programs_end_in_text_or_a_reason_however_they_are_mutilated() {
    let sandbox = sandbox();

    for path in papers() {
        let (name, whole) = (path.display().to_string(), std::fs::read(&path).unwrap());
        let (start, end) = whole.split_at(whole.len() / 2);
        // In halves, with its halves the wrong way round, and with bits wrong in its streams and tables.
        for bytes in [start, end, &[end, start].concat(), &flipped(&whole, 1), &flipped(&whole, 6)] {
            ends_well(&sandbox, &name, bytes).await;
        }
    }
    works(&sandbox).await;
}

#[tokio::test]
async fn a_file_over_the_bound_is_not_sent() {
    let documents = SandboxSettings { input_bytes: 100, ..SandboxSettings::documents() };
    let sandbox = Sandbox::with_documents(command(), SandboxSettings::default(), documents);

    let refused = read_file(&sandbox, &[b'%'; 101]).await;

    assert!(matches!(refused, Err(SandboxError::TooLarge)), "{refused:?}");
}

#[tokio::test]
async fn every_pdf_of_the_shared_set_ends_in_text_or_a_clear_reason() {
    let sandbox = sandbox();

    for path in papers() {
        let mut file = tokio::fs::File::open(&path).await.unwrap();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match sandbox.pdf(&mut file).await {
            Ok(read) => assert!(read.pages.iter().any(|page| !page.is_empty()), "{name}"),
            Err(SandboxError::NoText(NoText::Protected)) => assert!(name.contains("password"), "{name}"),
            Err(SandboxError::NoText(NoText::Pictures)) => assert!(name.contains("image"), "{name}"),
            Err(other) => panic!("{name}: {other:?}"),
        }
    }
    works(&sandbox).await;
}
