//! Pulls and imports of a small model, from a server in this process, from folders and from archives.

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

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("carrel-models-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn store(&self) -> Store {
        Store::new(vec![self.0.join("models")])
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
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

/// A server that has the two files, knows ranges, and breaks the first `breaks` answers off after ten bytes.
struct Server {
    home: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(weights: &'static [u8], breaks: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let home = format!("http://{}/small", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
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
                    let mut asked = heard.lock().unwrap();
                    asked.push(format!("{path} {from:?}"));
                    asked.len()
                };
                let part = &all[from.unwrap_or(0)..];
                let (status, range) = match from {
                    Some(from) => {
                        ("206 Partial", format!("content-range: bytes {from}-{}/*\r\n", all.len() - 1))
                    }
                    None => ("200 OK", String::new()),
                };
                let sent = if count <= breaks { &part[..10] } else { part };
                let head = format!(
                    "HTTP/1.1 {status}\r\n{range}content-length: {}\r\nconnection: close\r\n\r\n",
                    part.len()
                );
                write.write_all(&[head.as_bytes(), sent].concat()).await.unwrap();
            }
        });
        Self { home, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn plain() -> Result<reqwest::Client, DownloadError> {
    Ok(download::builder().no_proxy().build()?)
}

async fn fetch(folder: &Folder, home: &str) -> Result<PathBuf, PullError> {
    let catalogue = catalogue(home);
    pull_with(plain, &folder.store(), catalogue.get("small").unwrap(), &|_| {}).await
}

fn whole(place: &Path) {
    assert_eq!(fs::read(place.join("weights")).unwrap(), WEIGHTS);
    assert_eq!(fs::read(place.join("words")).unwrap(), WORDS);
    assert_eq!(fs::read_dir(place).unwrap().count(), 2);
}

#[tokio::test]
async fn a_model_is_fetched_once() {
    let (folder, server) = (Folder::new(), Server::start(WEIGHTS, 0).await);

    whole(&fetch(&folder, &server.home).await.unwrap());
    whole(&fetch(&folder, &server.home).await.unwrap());

    assert_eq!(server.asked(), ["/small/weights None", "/small/words None"]);
    let status = folder.store().status(&catalogue(&server.home));
    assert!(status.iter().all(|model| model.present && model.bytes == 58));
}

#[tokio::test]
async fn a_broken_download_goes_on_where_it_stopped() {
    let (folder, server) = (Folder::new(), Server::start(WEIGHTS, 2).await);

    whole(&fetch(&folder, &server.home).await.unwrap());

    assert_eq!(
        server.asked(),
        ["/small/weights None", "/small/weights Some(10)", "/small/weights Some(20)", "/small/words None"]
    );
}

#[tokio::test]
async fn what_an_interrupted_pull_left_behind_is_used() {
    let (folder, server) = (Folder::new(), Server::start(WEIGHTS, 0).await);
    folder.write("models/.pull-small/weights.part", &WEIGHTS[..7]);
    folder.write("models/.pull-small/words", WORDS);

    whole(&fetch(&folder, &server.home).await.unwrap());

    assert_eq!(server.asked(), ["/small/weights Some(7)"]);
}

#[tokio::test]
async fn other_bytes_of_the_right_length_are_refused_and_forgotten() {
    let wrong: &[u8] = b"some wreights, of which there are more than a fe";
    assert_eq!(wrong.len(), WEIGHTS.len());
    let (folder, server) = (Folder::new(), Server::start(wrong, 0).await);

    let refused = fetch(&folder, &server.home).await.unwrap_err();

    assert!(refused.to_string().contains("the SHA-256 of weights is"), "{refused}");
    assert!(folder.store().find(&catalogue(&server.home).models()[0]).is_none());
    assert!(!folder.0.join("models/.pull-small/weights.part").exists());
}

#[tokio::test]
async fn too_many_bytes_are_refused() {
    let (folder, server) = (Folder::new(), Server::start(&[7; 100], 0).await);

    let refused = fetch(&folder, &server.home).await.unwrap_err();

    assert!(refused.to_string().contains("instead of 48"), "{refused}");
}

#[tokio::test]
async fn an_address_that_does_not_answer_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let home = format!("http://{}/small", listener.local_addr().unwrap());
    drop(listener);

    let refused = fetch(&Folder::new(), &home).await.unwrap_err();

    let told = refused.to_string();
    assert!(
        told.starts_with("could not fetch the model `small`: from its own address: the server of the model cannot be reached"),
        "{told}"
    );
}

#[tokio::test]
async fn a_model_that_was_changed_on_disk_is_fetched_anew() {
    let (folder, server) = (Folder::new(), Server::start(WEIGHTS, 0).await);
    let place = fetch(&folder, &server.home).await.unwrap();
    fs::write(place.join("words"), b"some w0rds").unwrap();
    let catalogue = catalogue(&server.home);
    let model = &catalogue.models()[0];

    assert!(folder.store().find(model).is_some(), "its lengths are right");
    assert!(matches!(folder.store().verify(model), Err(Broken::Digest { .. })));
    whole(&fetch(&folder, &server.home).await.unwrap());
}

#[tokio::test]
async fn a_model_is_fetched_by_one_at_a_time() {
    let (folder, server) = (Folder::new(), Server::start(WEIGHTS, 0).await);
    let catalogue = catalogue(&server.home);
    let other = stage::Stage::open(&folder.0.join("models"), &catalogue.models()[0]).unwrap();

    assert!(matches!(fetch(&folder, &server.home).await, Err(PullError::Stage(StageError::Busy))));
    drop(other);
    assert!(fetch(&folder, &server.home).await.is_ok());
}

/// The model's files under other names, in a folder, a zip, a tar and a tar.gz, with something else beside them.
fn bundles(folder: &Folder) -> Vec<PathBuf> {
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

/// One file of a tar; written by hand, because the crate refuses to write names that lead out.
fn tar_entry(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(bytes.len() as u64);
    header.set_cksum();
    let padding = vec![0; bytes.len().next_multiple_of(512) - bytes.len()];
    [header.as_bytes().as_slice(), bytes, &padding].concat()
}

#[test]
fn models_are_imported_from_folders_and_archives_by_what_they_are() {
    let source = Folder::new();
    for bundle in bundles(&source) {
        let folder = Folder::new();

        let imported = import(&folder.store(), &catalogue("https://nowhere.example"), &bundle).unwrap();

        assert_eq!(imported[0].0, "small");
        whole(&imported[0].1);
        assert_eq!(fs::read_dir(folder.0.join("models")).unwrap().count(), 2, "the model and its lock");
    }
}

#[test]
fn a_file_in_pieces_is_put_together_whichever_comes_first() {
    let (mut catalogue, digest) = (catalogue("https://nowhere.example"), |bytes: &[u8]| {
        digest::copy(&mut &*bytes, &mut std::io::sink()).unwrap().1
    });
    let (front, back) = WEIGHTS.split_at(20);
    let piece = |bytes: &[u8]| Piece { bytes: bytes.len() as u64, sha256: digest(bytes) };
    catalogue.model_mut("small").files[0].pieces = vec![piece(front), piece(back)];
    let folder = Folder::new();
    let one = folder.write("one/front", front);
    let other = folder.write("other/back", back);
    folder.write("one/words", WORDS);
    let import = |path: &Path| import(&folder.store(), &catalogue, path.parent().unwrap());

    assert!(matches!(import(&other), Err(ImportError::Nothing(_))));
    let imported = import(&one).unwrap();

    assert_eq!(fs::read(imported[0].1.join("weights")).unwrap(), WEIGHTS);
    assert_eq!(fs::read_dir(&imported[0].1).unwrap().count(), 2, "no piece is left");
}

#[test]
fn what_holds_no_model_is_refused() {
    let (folder, catalogue) = (Folder::new(), catalogue("https://nowhere.example"));
    let half = folder.write("half/weights", WEIGHTS);
    let text = folder.write("text", b"neither one nor the other");
    let broken = folder.write("broken.zip", b"PK\x03\x04 and nothing else");
    let import = |path: &Path| import(&folder.store(), &catalogue, path);

    assert!(matches!(import(half.parent().unwrap()), Err(ImportError::Nothing(_))));
    assert!(matches!(import(&text), Err(ImportError::Unpack(unpack::UnpackError::Unknown(_)))));
    assert!(matches!(import(&broken), Err(ImportError::Unpack(unpack::UnpackError::Read { .. }))));
    assert!(matches!(import(&folder.0.join("nowhere")), Err(ImportError::Unpack(_))));
}
