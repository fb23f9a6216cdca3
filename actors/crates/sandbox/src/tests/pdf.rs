//! Whole PDFs with real children: generated ones, damaged ones, and those of the shared set if it exists.

use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Duration;

use parse::pdf::PdfError;

use super::{command, shared};
use crate::{PdfText, Sandbox, SandboxError, SandboxSettings};
use sample::{paint_text, pdf};

#[path = "../../../parse/src/pdf/sample.rs"]
mod sample;

/// Returns the file with one bit flipped in some of its bytes. The bytes are the same at every run.
fn flipped(whole: &[u8], step: usize) -> Vec<u8> {
    let wrong = |n: usize| u8::from((n * 7919 + step * 104_729).is_multiple_of(61)) << (step % 8);
    whole.iter().enumerate().map(|(n, byte)| byte ^ wrong(n)).collect()
}

/// Returns damaged and malicious files, each with a name.
fn mutilated() -> Vec<(String, Vec<u8>)> {
    let whole = pdf(&[&paint_text("A whole page."), &paint_text("And another.")], &[]);
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
        pdf(&[&format!("{} {}", "q ".repeat(300_000), paint_text("deep"))], &[]),
    ));
    files.push((
        "a tree of pages that is its own child".to_owned(),
        pdf(&[], &[(10, "<</Type/Pages/Kids[2 0 R 10 0 R]>>")]),
    ));
    files.push((
        "an outline in a circle".to_owned(),
        pdf(
            &[&paint_text("round")],
            &[(100, "<</First 102 0 R>>"), (102, "<</Title(a)/Next 102 0 R/First 102 0 R>>")],
        ),
    ));
    files.push(("zeros".to_owned(), vec![0; 100_000]));
    files
}

fn sandbox() -> Sandbox {
    let documents = SandboxSettings {
        children: 2,
        wall_time: Duration::from_secs(60),
        cpu_seconds: 10,
        idle_timeout: Duration::from_secs(600),
        ..SandboxSettings::documents()
    };
    Sandbox::with_documents(command(), SandboxSettings::default(), documents)
}

async fn read_file(sandbox: &Sandbox, bytes: &[u8]) -> Result<PdfText, SandboxError> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    sandbox.read_pdf(&mut tokio::fs::File::from_std(file)).await
}

/// Checks that a file is read, or rejected with a reason.
async fn assert_text_or_error(sandbox: &Sandbox, name: &str, bytes: &[u8]) {
    match read_file(sandbox, bytes).await {
        Ok(_) | Err(SandboxError::Pdf(_) | SandboxError::Crashed | SandboxError::TimedOut) => {}
        Err(other) => panic!("{name}: {other:?}"),
    }
}

/// Returns the PDFs of the shared set, if it exists.
fn shared_pdfs() -> Vec<PathBuf> {
    let files: Vec<_> = ["pdf", "pdf-layout"].into_iter().flat_map(shared).collect();
    let is_there = !files.is_empty();
    let is_paper = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "pdf");
    let shared_pdfs: Vec<_> = files.into_iter().filter(is_paper).collect();
    assert!(!is_there || shared_pdfs.len() == 29 + 3, "{shared_pdfs:?}");
    shared_pdfs
}

/// Checks that a valid file is read, whatever was read before it.
async fn assert_reads_pdf(sandbox: &Sandbox) {
    let read = read_file(sandbox, &pdf(&[&paint_text("Still here.")], &[])).await.unwrap();

    assert_eq!(read.pages, ["Still here."]);
}

fn file_of(bytes: &[u8]) -> tokio::fs::File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    tokio::fs::File::from_std(file)
}

#[tokio::test]
async fn pages_are_drawn_and_their_words_placed() {
    let sandbox = sandbox();
    let mut file = file_of(&pdf(&[&paint_text("First page."), &paint_text("Second.")], &[]));

    let sizes = sandbox.read_pdf_sizes(&mut file).await.unwrap();
    let layer = sandbox.read_pdf_layer(&mut file, 2).await.unwrap().unwrap();
    let drawn = sandbox.draw_pdf_page(&mut file, 2, 800).await.unwrap().unwrap();

    assert_eq!((sizes.len(), sizes[1].width, sizes[1].height), (2, 600.0, 800.0));
    assert_eq!((layer.text.as_str(), layer.runs.len(), layer.size), ("Second.", 1, sizes[1]));
    assert_eq!((drawn.picture.width, drawn.picture.height, &drawn.webp[..4]), (800, 1066, &b"RIFF"[..]));
    assert!(sandbox.read_pdf_layer(&mut file, 3).await.unwrap().is_none());
    assert!(sandbox.draw_pdf_page(&mut file, 3, 800).await.unwrap().is_none());
}

/// Covers the threat table (row P1).
#[tokio::test]
async fn mutilated_file_is_drawn_or_refused() {
    let sandbox = sandbox();

    for (name, bytes) in mutilated() {
        let mut file = file_of(&bytes);
        match sandbox.draw_pdf_page(&mut file, 1, 132).await {
            Ok(_)
            | Err(
                SandboxError::Pdf(_)
                | SandboxError::Crashed
                | SandboxError::TimedOut
                | SandboxError::OutOfMemory,
            ) => {}
            Err(other) => panic!("{name}: {other:?}"),
        }
    }
    let mut file = file_of(&pdf(&[&paint_text("Still here.")], &[]));
    assert!(sandbox.draw_pdf_page(&mut file, 1, 132).await.unwrap().is_some());
}

#[tokio::test]
async fn layers_of_shared_pdfs_have_their_texts() {
    let sandbox = sandbox();

    for path in shared_pdfs() {
        let name = path.display().to_string();
        let mut file = tokio::fs::File::open(&path).await.unwrap();
        let Ok(read) = sandbox.read_pdf(&mut file).await else { continue };
        for (page, number) in read.pages.iter().zip(1..4) {
            let layer = sandbox.read_pdf_layer(&mut file, number).await.unwrap().unwrap();
            assert_eq!(&layer.text, page, "{name}, page {number}");
        }
    }
}

/// Covers the threat table (row P1).
#[tokio::test]
async fn mutilated_file_does_not_affect_the_next() {
    let sandbox = sandbox();

    for (name, bytes) in mutilated() {
        assert_text_or_error(&sandbox, &name, &bytes).await;
        assert_reads_pdf(&sandbox).await;
    }
}

/// Covers the threat table (row P1).
#[tokio::test]
async fn mutilated_real_files_give_text_or_an_error() {
    let sandbox = sandbox();

    for path in shared_pdfs() {
        let (name, whole) = (path.display().to_string(), std::fs::read(&path).unwrap());
        let (start, end) = whole.split_at(whole.len() / 2);
        // In halves, with the halves swapped, and with flipped bits in its streams and tables.
        for bytes in [start, end, &[end, start].concat(), &flipped(&whole, 1), &flipped(&whole, 6)] {
            assert_text_or_error(&sandbox, &name, bytes).await;
        }
    }
    assert_reads_pdf(&sandbox).await;
}

#[tokio::test]
async fn file_over_the_limit_is_not_sent() {
    let documents = SandboxSettings { input_bytes: 100, ..SandboxSettings::documents() };
    let sandbox = Sandbox::with_documents(command(), SandboxSettings::default(), documents);

    let refused = read_file(&sandbox, &[b'%'; 101]).await;

    assert!(matches!(refused, Err(SandboxError::TooLarge)), "{refused:?}");
}

#[tokio::test]
async fn every_shared_pdf_gives_text_or_an_error() {
    let sandbox = sandbox();

    for path in shared_pdfs() {
        let mut file = tokio::fs::File::open(&path).await.unwrap();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match sandbox.read_pdf(&mut file).await {
            Ok(read) => assert!(read.pages.iter().any(|page| !page.is_empty()), "{name}"),
            Err(SandboxError::Pdf(PdfError::PasswordProtected)) => {
                assert!(name.contains("password"), "{name}")
            }
            Err(SandboxError::Pdf(PdfError::ImagesOnly)) => assert!(name.contains("image"), "{name}"),
            Err(other) => panic!("{name}: {other:?}"),
        }
    }
    assert_reads_pdf(&sandbox).await;
}
