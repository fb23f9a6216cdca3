//! The file of a recording or a PDF, and the captions of a recording.

use actix_web::HttpResponse;
use errors::Error;

use crate::http::originals;
use crate::web::page::request::PageRequest;

/// Sends the file, or a part of it.
///
/// # Errors
/// [`Error::NotFound`] when there is no such document; [`Error::Conflict`] when its file is not stored any more.
pub async fn show_file(request: PageRequest) -> Result<HttpResponse, Error> {
    let caller = &request.viewer.caller;
    originals::media(&request.http, &request.ctx, caller, request.target().id(0)?).await
}

/// Sends the captions.
///
/// # Errors
/// [`Error::NotFound`] when there is no such recording, or it has no transcript yet.
pub async fn show_captions(request: PageRequest) -> Result<HttpResponse, Error> {
    originals::captions(&request.ctx, &request.viewer.caller, request.target().id(0)?).await
}
