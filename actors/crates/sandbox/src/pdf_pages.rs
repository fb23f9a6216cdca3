//! Pages of PDFs: their sizes, their pictures, and the places of their words.

use parse::pdf::{PageLayer, PagePicture, PageSize};
use serde::de::DeserializeOwned;
use tokio::fs::File;

use super::pool::Body;
use super::sandbox::Sandbox;
use super::sandbox_error::SandboxError;
use super::wire::{Task, TaskResponse};

/// The picture of a page, with its WebP file.
#[derive(Clone, Debug)]
pub struct DrawnPage {
    /// Its width and height in pixels.
    pub picture: PagePicture,
    /// The WebP file.
    pub webp: Vec<u8>,
}

impl Sandbox {
    /// Reads the sizes of the pages of a PDF, from a file that is open for reading.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` concern this file alone.
    pub async fn read_pdf_sizes(&self, file: &mut File) -> Result<Vec<PageSize>, SandboxError> {
        self.read_json(&Task::PdfSizes, file).await?.ok_or(SandboxError::Crashed)
    }

    /// Reads the text layer of a page, counted from 1; `None` if the document has no such page.
    ///
    /// # Errors
    /// The same errors as [`Sandbox::read_pdf_sizes`].
    pub async fn read_pdf_layer(
        &self,
        file: &mut File,
        page: u32,
    ) -> Result<Option<PageLayer>, SandboxError> {
        self.read_json(&Task::PdfLayer { page }, file).await
    }

    /// Draws a page, counted from 1, in this width in pixels; `None` if the document has no such page. A very long page is drawn
    /// narrower.
    ///
    /// # Errors
    /// The same errors as [`Sandbox::read_pdf_sizes`].
    pub async fn draw_pdf_page(
        &self,
        file: &mut File,
        page: u32,
        width: u32,
    ) -> Result<Option<DrawnPage>, SandboxError> {
        match self.pictures.run(&Task::PdfPicture { page, width }, Body::File(file)).await? {
            (TaskResponse::Picture(picture), webp) => Ok(Some(DrawnPage { picture, webp })),
            (TaskResponse::NoPage, _) => Ok(None),
            (other, _) => Err(failure(other)),
        }
    }

    async fn read_json<T: DeserializeOwned>(
        &self,
        task: &Task,
        file: &mut File,
    ) -> Result<Option<T>, SandboxError> {
        match self.pictures.run(task, Body::File(file)).await? {
            (TaskResponse::Json, json) => {
                serde_json::from_slice(&json).map(Some).map_err(|_| SandboxError::Crashed)
            }
            (TaskResponse::NoPage, _) => Ok(None),
            (other, _) => Err(failure(other)),
        }
    }
}

/// Returns the error of a response that has no result.
fn failure(response: TaskResponse) -> SandboxError {
    match response {
        TaskResponse::PdfFailed { reason } => reason.into(),
        TaskResponse::TooLarge => SandboxError::TooLarge,
        // A response to another task means that the child does not work as written.
        TaskResponse::Article(_)
        | TaskResponse::ArticleFailed { .. }
        | TaskResponse::Json
        | TaskResponse::Picture(_)
        | TaskResponse::NoPage
        | TaskResponse::Pdf(_) => SandboxError::Crashed,
    }
}
