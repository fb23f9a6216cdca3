//! The server's side of the child processes.

use std::sync::Arc;

use parse::bookmarks::Format;
use parse::feed::{FeedDocument, OpmlDocument};
use parse::html::Article;
use parse::pdf;
use parse::picture::{PictureError, ShownPicture};
use serde::de::DeserializeOwned;

use super::audio::AudioReader;
use super::command::SandboxCommand;
use super::confinement::Confinement;
use super::import::ImportReader;
use super::pool::{Body, Pool};
use super::sandbox_error::SandboxError;
use super::settings::SandboxSettings;
use super::wire::{self, Task, TaskResponse};

/// A fetched web page, decoded to UTF-8.
#[derive(Clone)]
pub struct Page {
    /// The HTML of the page.
    pub html: String,
    /// The URL of the page after redirects, against which its links are resolved.
    pub url: String,
    /// The title that the user gave it, if any.
    pub user_title: Option<String>,
}

/// The text of a PDF, page by page, and its metadata.
#[derive(Debug)]
pub struct PdfText {
    /// The metadata that the document declares; it may be wrong.
    pub metadata: pdf::PdfMetadata,
    /// The text of each page in order; empty for a page without text.
    pub pages: Vec<String>,
}

/// The server's side of all children. Clones share them; they end when the last clone is dropped.
#[derive(Clone)]
pub struct Sandbox {
    pages: Arc<Pool>,
    documents: Arc<Pool>,
    /// For pages of PDFs.
    pub(super) pictures: Arc<Pool>,
    /// For pictures of web pages. Apart from `pages`, because one page shows dozens of them, behind which saves and feeds would wait.
    web_pictures: Arc<Pool>,
}

impl Sandbox {
    /// Creates a sandbox with [`SandboxSettings::documents`] for documents. No child is started before there is work.
    pub fn new(command: SandboxCommand, settings: SandboxSettings) -> Self {
        Self::with_documents(command, settings, SandboxSettings::documents())
    }

    /// Creates a sandbox as [`Sandbox::new`] does, with other limits for documents.
    pub fn with_documents(
        command: SandboxCommand,
        pages: SandboxSettings,
        documents: SandboxSettings,
    ) -> Self {
        let web_pictures = SandboxSettings::web_pictures(&pages);
        Self {
            pages: Pool::new(command.clone(), pages),
            documents: Pool::new(command.clone(), documents),
            pictures: Pool::new(command.clone(), SandboxSettings::pictures()),
            web_pictures: Pool::new(command, web_pictures),
        }
    }

    /// Reads the article of a page: its text, and its metadata.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` concern this page alone.
    pub async fn read_article(&self, page: Page) -> Result<Article, SandboxError> {
        let task = Task::Article { url: page.url, user_title: page.user_title };
        match self.pages.run(&task, Body::Bytes(page.html.as_bytes())).await? {
            (TaskResponse::Article(article), text) => {
                let text = String::from_utf8(text).map_err(|_| SandboxError::Crashed)?;
                let (text, html) = match text.split_once(wire::HTML_SEPARATOR) {
                    Some((text, html)) => (text.to_owned(), Some(html.to_owned())),
                    None => (text, None),
                };
                Ok(Article { text, html, ..*article })
            }
            (TaskResponse::ArticleFailed { reason }, _) => Err(reason.into()),
            (TaskResponse::TooLarge, _) => Err(SandboxError::TooLarge),
            // A response to another task, as text that is not UTF-8, means that the child does not work as written.
            (
                TaskResponse::Json
                | TaskResponse::Pdf(_)
                | TaskResponse::PdfFailed { .. }
                | TaskResponse::Picture(_)
                | TaskResponse::NoPage,
                _,
            ) => Err(SandboxError::Crashed),
        }
    }

    /// Reads the text of a PDF, page by page, from a file that is open for reading. The file is sent in pieces: the server
    /// itself never holds it whole.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` concern this file alone.
    pub async fn read_pdf(&self, file: &mut tokio::fs::File) -> Result<PdfText, SandboxError> {
        match self.documents.run(&Task::Pdf, Body::File(file)).await? {
            (TaskResponse::Pdf(metadata), text) => {
                let text = String::from_utf8(text).map_err(|_| SandboxError::Crashed)?;
                let pages = text.split(pdf::PAGE_SEPARATOR).map(str::to_owned).collect();
                Ok(PdfText { metadata: *metadata, pages })
            }
            (TaskResponse::PdfFailed { reason }, _) => Err(reason.into()),
            (TaskResponse::TooLarge, _) => Err(SandboxError::TooLarge),
            (
                TaskResponse::Json
                | TaskResponse::Article(_)
                | TaskResponse::ArticleFailed { .. }
                | TaskResponse::Picture(_)
                | TaskResponse::NoPage,
                _,
            ) => Err(SandboxError::Crashed),
        }
    }

    /// Reads what a URL returned: a feed, or a page with the feeds that it names.
    ///
    /// # Errors
    /// Each of [`SandboxError`] but `Article`; all but `Unavailable` concern these bytes alone.
    pub async fn read_feed(&self, bytes: &[u8], url: String) -> Result<FeedDocument, SandboxError> {
        run_json(&self.pages, &Task::Feed { url }, bytes).await
    }

    /// Reads a list of feeds; `None` if the text is not OPML.
    ///
    /// # Errors
    /// The same errors as [`Sandbox::read_feed`].
    pub async fn read_opml(&self, text: &str) -> Result<Option<OpmlDocument>, SandboxError> {
        run_json(&self.pages, &Task::Opml, text.as_bytes()).await
    }

    /// Decodes a picture of a web page and encodes it again, so that nothing but its pixels is left.
    ///
    /// # Errors
    /// [`SandboxError::Picture`] when it is no picture that is shown; each of the others but `Article`; all but `Unavailable` concern
    /// these bytes alone.
    pub async fn read_picture(&self, bytes: &[u8]) -> Result<ShownPicture, SandboxError> {
        let read: Result<ShownPicture, PictureError> =
            run_json(&self.web_pictures, &Task::WebPicture, bytes).await?;
        Ok(read?)
    }

    /// Begins to decode an audio or video file that is open for reading only. `wall_time` and `cpu_seconds` hold for each piece.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` concern this file alone.
    pub async fn open_audio(&self, file: std::fs::File) -> Result<AudioReader, SandboxError> {
        AudioReader::open(&self.pages, file).await
    }

    /// Begins to read a file of another program that is open for reading only.
    /// `wall_time` and `cpu_seconds` hold for each request.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` concern this file alone.
    pub async fn open_import(
        &self,
        file: std::fs::File,
        format: Option<Format>,
    ) -> Result<ImportReader, SandboxError> {
        ImportReader::open(&self.documents, file, format).await
    }

    /// Returns how children are confined on this machine; starts one if none has reported yet.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when no child can be started.
    pub async fn confinement(&self) -> Result<Confinement, SandboxError> {
        self.pages.confinement().await
    }

    /// Returns the number of children of pages that have no work.
    pub fn idle_count(&self) -> usize {
        self.pages.idle_count()
    }
}

/// Runs a task whose response is JSON in a child of this pool.
async fn run_json<T: DeserializeOwned>(
    pool: &Arc<Pool>,
    task: &Task,
    bytes: &[u8],
) -> Result<T, SandboxError> {
    match pool.run(task, Body::Bytes(bytes)).await? {
        (TaskResponse::Json, text) => serde_json::from_slice(&text).map_err(|_| SandboxError::Crashed),
        (TaskResponse::TooLarge, _) => Err(SandboxError::TooLarge),
        (
            TaskResponse::Article(_)
            | TaskResponse::ArticleFailed { .. }
            | TaskResponse::Pdf(_)
            | TaskResponse::PdfFailed { .. }
            | TaskResponse::Picture(_)
            | TaskResponse::NoPage,
            _,
        ) => Err(SandboxError::Crashed),
    }
}
