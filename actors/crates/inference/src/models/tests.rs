//! Downloads and imports of a small model, from a server in this process, from folders and from archives.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
};

use super::{pull::pull_with, *};

const WEIGHTS: &[u8] = b"some weights, of which there are more than a few";
const WORDS: &[u8] = b"some words";

/// A folder that is removed at the end of the test.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("carrel-models-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn store(&self) -> Store {
        Store::new(self.0.join("models"))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn catalogue(home: &str) -> Catalogue {
    let digest = |bytes: &[u8]| digest::copy(&mut &*bytes, &mut std::io::sink()).unwrap().1;
    toml::from_str(&format!(
        r#"
        [[model]]
        name = "small"
        purpose = "embedding"
        about = "a test"
        licence = "MIT"
        home = "{home}"
        [[model.file]]
        name = "weights"
        bytes = {}
        sha256 = "{}"
        [[model.file]]
        name = "words"
        bytes = {}
        sha256 = "{}"
        "#,
        WEIGHTS.len(),
        digest(WEIGHTS),
        WORDS.len(),
        digest(WORDS),
    ))
    .unwrap()
}

/// A server for the two files that supports ranges and truncates the first `truncated` responses after ten bytes.
struct ModelServer {
    home: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ModelServer {
    async fn start(weights: &'static [u8], truncated: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let home = format!("http://{}/small", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&requests);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (read, mut write) = stream.split();
                let (mut lines, mut path, mut from) = (BufReader::new(read).lines(), String::new(), None);
                while let Some(line) = lines.next_line().await.unwrap().filter(|line| !line.is_empty()) {
                    if let Some(rest) = line.strip_prefix("GET ") {
                        path = rest.split(' ').next().unwrap().to_owned();
                    }
                    if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
                        from = Some(range.trim_end_matches('-').parse::<usize>().unwrap());
                    }
                }
                let all = match path.as_str() {
                    "/small/weights" => weights,
                    "/small/words" => WORDS,
                    _ => {
                        write
                            .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                            .await
                            .unwrap();
                        continue;
                    }
                };
                let count = {
                    let mut received = received.lock().unwrap();
                    received.push(format!("{path} {from:?}"));
                    received.len()
                };
                let part = &all[from.unwrap_or(0)..];
                let (status, range) = match from {
                    Some(from) => {
                        ("206 Partial", format!("content-range: bytes {from}-{}/*\r\n", all.len() - 1))
                    }
                    None => ("200 OK", String::new()),
                };
                let sent = if count <= truncated { &part[..10] } else { part };
                let head = format!(
                    "HTTP/1.1 {status}\r\n{range}content-length: {}\r\nconnection: close\r\n\r\n",
                    part.len()
                );
                write.write_all(&[head.as_bytes(), sent].concat()).await.unwrap();
            }
        });
        Self { home, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn plaintext_client() -> Result<reqwest::Client, DownloadError> {
    Ok(download::builder().no_proxy().build()?)
}

async fn fetch(folder: &TestFolder, home: &str) -> Result<PathBuf, PullError> {
    let catalogue = catalogue(home);
    pull_with(plaintext_client, &folder.store(), catalogue.get("small").unwrap(), &|_| {}).await
}

fn assert_complete(folder: &Path) {
    assert_eq!(fs::read(folder.join("weights")).unwrap(), WEIGHTS);
    assert_eq!(fs::read(folder.join("words")).unwrap(), WORDS);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 2);
}

#[tokio::test]
async fn model_is_downloaded_once() {
    let (folder, server) = (TestFolder::new(), ModelServer::start(WEIGHTS, 0).await);

    assert_complete(&fetch(&folder, &server.home).await.unwrap());
    assert_complete(&fetch(&folder, &server.home).await.unwrap());

    assert_eq!(server.requests(), ["/small/weights None", "/small/words None"]);
    let status = folder.store().status(&catalogue(&server.home));
    assert!(status.iter().all(|model| model.present && model.bytes == 58));
}

#[tokio::test]
async fn interrupted_transfer_is_continued() {
    let (folder, server) = (TestFolder::new(), ModelServer::start(WEIGHTS, 2).await);

    assert_complete(&fetch(&folder, &server.home).await.unwrap());

    assert_eq!(
        server.requests(),
        ["/small/weights None", "/small/weights Some(10)", "/small/weights Some(20)", "/small/words None"]
    );
}

#[tokio::test]
async fn interrupted_pull_is_continued() {
    let (folder, server) = (TestFolder::new(), ModelServer::start(WEIGHTS, 0).await);
    folder.write("models/.pull-small/weights.part", &WEIGHTS[..7]);
    folder.write("models/.pull-small/words", WORDS);

    assert_complete(&fetch(&folder, &server.home).await.unwrap());

    assert_eq!(server.requests(), ["/small/weights Some(7)"]);
}

#[tokio::test]
async fn file_with_a_wrong_digest_is_rejected_and_removed() {
    let wrong: &[u8] = b"some wreights, of which there are more than a fe";
    assert_eq!(wrong.len(), WEIGHTS.len());
    let (folder, server) = (TestFolder::new(), ModelServer::start(wrong, 0).await);

    let error = fetch(&folder, &server.home).await.unwrap_err();

    let message = error.to_string();
    assert!(message.contains("the SHA-256 of weights is"), "{message}");
    assert_eq!(message.matches("carrel models").count(), 1, "the advice is given once: {message}");
    assert!(folder.store().find(&catalogue(&server.home).models()[0]).is_none());
    assert!(!folder.0.join("models/.pull-small/weights.part").exists());
}

#[tokio::test]
async fn response_that_is_too_long_is_rejected() {
    let (folder, server) = (TestFolder::new(), ModelServer::start(&[7; 100], 0).await);

    let error = fetch(&folder, &server.home).await.unwrap_err();

    assert!(error.to_string().contains("instead of 48"), "{error}");
}

#[tokio::test]
async fn unreachable_server_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let home = format!("http://{}/small", listener.local_addr().unwrap());
    drop(listener);

    let error = fetch(&TestFolder::new(), &home).await.unwrap_err();

    let message = error.to_string();
    assert!(
        message.starts_with(
            "could not fetch the model `small` (from its own URL: the server of the model cannot be reached"
        ),
        "{message}"
    );
}

#[tokio::test]
async fn model_changed_on_disk_is_downloaded_again() {
    let (folder, server) = (TestFolder::new(), ModelServer::start(WEIGHTS, 0).await);
    let installed = fetch(&folder, &server.home).await.unwrap();
    fs::write(installed.join("words"), b"some w0rds").unwrap();
    let catalogue = catalogue(&server.home);
    let model = &catalogue.models()[0];

    assert!(folder.store().find(model).is_some(), "the lengths are unchanged");
    assert!(matches!(folder.store().verify(model), Err(VerifyError::Digest { .. })));
    assert_complete(&fetch(&folder, &server.home).await.unwrap());
}

#[tokio::test]
async fn concurrent_downloads_of_a_model_are_refused() {
    let (folder, server) = (TestFolder::new(), ModelServer::start(WEIGHTS, 0).await);
    let catalogue = catalogue(&server.home);
    let other = stage::Stage::open(&folder.0.join("models"), &catalogue.models()[0]).unwrap();

    assert!(matches!(fetch(&folder, &server.home).await, Err(PullError::Stage(StageError::Busy))));
    drop(other);
    assert!(fetch(&folder, &server.home).await.is_ok());
}

/// Writes the files of the model under other names, with an unrelated file, in a folder, a zip, a tar and a tar.gz.
fn bundles(folder: &TestFolder) -> Vec<PathBuf> {
    let files = [("a/pytorch.bin", WEIGHTS), ("readme", b"read me".as_slice()), ("../../vocabulary", WORDS)];
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let mut tar = Vec::new();
    for (name, bytes) in files {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
        tar.extend(tar_entry(name, bytes));
        folder.write(&format!("bundle/{}", name.trim_start_matches("../")), bytes);
    }
    tar.extend([0; 1024]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&tar).unwrap();
    vec![
        folder.0.join("bundle"),
        folder.write("model.whl", &zip.finish().unwrap().into_inner()),
        folder.write("model.tar", &tar),
        folder.write("model.tar.gz", &gzip.finish().unwrap()),
    ]
}

/// Returns a tar entry, built by hand because the crate refuses to write names with `..`.
fn tar_entry(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(bytes.len() as u64);
    header.set_cksum();
    let padding = vec![0; bytes.len().next_multiple_of(512) - bytes.len()];
    [header.as_bytes().as_slice(), bytes, &padding].concat()
}

#[test]
fn models_are_imported_by_content_from_folders_and_archives() {
    let source = TestFolder::new();
    for bundle in bundles(&source) {
        let folder = TestFolder::new();

        let imported = import(&folder.store(), &catalogue("https://nowhere.example"), &bundle).unwrap();

        assert_eq!(imported[0].0, "small");
        assert_complete(&imported[0].1);
        assert_eq!(fs::read_dir(folder.0.join("models")).unwrap().count(), 2, "the model and its lock");
    }
}

#[test]
fn pieces_are_joined_in_any_order_of_import() {
    let (mut catalogue, digest) = (catalogue("https://nowhere.example"), |bytes: &[u8]| {
        digest::copy(&mut &*bytes, &mut std::io::sink()).unwrap().1
    });
    let (front, back) = WEIGHTS.split_at(20);
    let piece = |bytes: &[u8]| Piece { bytes: bytes.len() as u64, sha256: digest(bytes) };
    catalogue.model_mut("small").files[0].pieces = vec![piece(front), piece(back)];
    let folder = TestFolder::new();
    let one = folder.write("one/front", front);
    let other = folder.write("other/back", back);
    folder.write("one/words", WORDS);
    let import = |path: &Path| import(&folder.store(), &catalogue, path.parent().unwrap());

    assert!(matches!(import(&other), Err(ImportError::NoModel(_))));
    let imported = import(&one).unwrap();

    assert_eq!(fs::read(imported[0].1.join("weights")).unwrap(), WEIGHTS);
    assert_eq!(fs::read_dir(&imported[0].1).unwrap().count(), 2, "pieces are removed");
}

#[test]
fn path_without_a_model_is_an_error() {
    let (folder, catalogue) = (TestFolder::new(), catalogue("https://nowhere.example"));
    let incomplete = folder.write("half/weights", WEIGHTS);
    let text = folder.write("text", b"neither one nor the other");
    let broken = folder.write("broken.zip", b"PK\x03\x04 and nothing else");
    let import = |path: &Path| import(&folder.store(), &catalogue, path);

    assert!(matches!(import(incomplete.parent().unwrap()), Err(ImportError::NoModel(_))));
    assert!(matches!(import(&text), Err(ImportError::Unpack(unpack::UnpackError::Unknown(_)))));
    assert!(matches!(import(&broken), Err(ImportError::Unpack(unpack::UnpackError::Read { .. }))));
    assert!(matches!(import(&folder.0.join("nowhere")), Err(ImportError::Unpack(_))));
}
