//! The child process: confines itself, reports how far that went, then answers one task after the other.
//!
//! Frames go both ways over the socket that the parent passed as standard input, so that nothing that a parser prints can get
//! between them. The child ends when the parent does. A panic, a stack overflow or a failed allocation ends it too: the parent
//! treats that as the outcome of the task and starts another child. The parent reads standard error only when the child has
//! died, so the child writes next to nothing to it.

use std::{
    io,
    os::{fd::AsFd, unix::net::UnixStream},
    panic,
    process::ExitCode,
    thread,
};

use concurrency::lower_thread_priority;
use parse::{feed, html, pdf, picture};
use serde::Serialize;

use super::{
    audio,
    confinement::{self, Confinement, CpuMeter},
    import,
    wire::{self, Handshake, Setup, Task, TaskResponse, WireError, WorkerMode},
};

/// The stack of parsers that recurse into a document. Only the pages that are touched take memory.
const STACK_BYTES: usize = 128 * 1024 * 1024;

/// Added to the nice value of a child: a PDF takes seconds of a core. Next to a busy thread of normal priority a child gets a
/// quarter of the core; `wall_time` allows for it.
pub(crate) const NICE_INCREMENT: i32 = 5;

/// Turns a task and its bytes into a response and its body.
pub(super) type TaskHandler = fn(Task, Vec<u8>) -> (TaskResponse, Vec<u8>);

/// Serves one parent until it closes the socket: all that `carrel parse-worker` does. Call it before anything else in the
/// process, while it has one thread.
pub fn run() -> ExitCode {
    serve(perform)
}

/// Serves as [`run`] does, with another handler of tasks.
pub(super) fn serve(handler: TaskHandler) -> ExitCode {
    match start(handler) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn start(handler: TaskHandler) -> Result<(), WireError> {
    // The parent sees a panic by how the child ends. The message may quote the page, and would fill the pipe of stderr.
    panic::set_hook(Box::new(|_| {}));
    let mut parent = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (setup, _) = wire::read_message::<Setup>(&mut parent, 0)?;
    // A child has no log, so nothing reports a failure; its results are the same at full priority.
    lower_thread_priority(NICE_INCREMENT);
    let (confinement, meter) = confinement::confine(setup.memory_bytes, setup.cpu_seconds);
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    // The main thread's stack is too small for deep documents, so the work is done in a thread of this process with a
    // larger one.
    let thread = thread.spawn(move || serve_mode(parent, &setup, confinement, meter, handler))?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("a parser panicked").into()))
}

fn serve_mode(
    mut parent: UnixStream,
    setup: &Setup,
    mut confinement: Confinement,
    mut meter: CpuMeter,
    handler: TaskHandler,
) -> Result<(), WireError> {
    // Not before this thread runs: the limit counts threads as well, and starting this one would fail.
    confinement::forbid_new_processes(&mut confinement);
    wire::write(&mut parent, &Handshake { confinement }, &[])?;
    match setup.mode {
        WorkerMode::Tasks => {}
        WorkerMode::Audio => return audio::child::serve_recording(parent, meter),
        WorkerMode::Import => return import::child::serve_file(parent, meter),
    }
    loop {
        let (task, bytes) = wire::read_message::<Task>(&mut parent, setup.input_bytes)?;
        // If the limit cannot be renewed, the task is still bounded by the time limit of the parent.
        let _ = meter.renew();
        let (response, body) = handler(task, bytes);
        // The parent refuses a body over its limit too, but cannot tell it from a crash without this response.
        match body.len() > setup.output_bytes {
            true => wire::write(&mut parent, &TaskResponse::TooLarge, &[])?,
            false => wire::write(&mut parent, &response, &body)?,
        }
    }
}

pub(super) fn perform(task: Task, bytes: Vec<u8>) -> (TaskResponse, Vec<u8>) {
    match task {
        Task::Article { url, user_title } => {
            match html::read_article(&String::from_utf8_lossy(&bytes), &url, user_title.as_deref()) {
                Ok(mut article) => {
                    let mut text = std::mem::take(&mut article.text);
                    if let Some(html) = article.html.take() {
                        text.push(wire::HTML_SEPARATOR);
                        text.push_str(&html);
                    }
                    (TaskResponse::Article(Box::new(article)), text.into_bytes())
                }
                Err(reason) => (TaskResponse::ArticleFailed { reason }, Vec::new()),
            }
        }
        Task::Pdf => match pdf::read_pdf(bytes) {
            Ok((metadata, text)) => (TaskResponse::Pdf(Box::new(metadata)), text.into_bytes()),
            Err(reason) => (TaskResponse::PdfFailed { reason }, Vec::new()),
        },
        Task::PdfSizes => match pdf::read_page_sizes(bytes) {
            Ok(sizes) => json_response(&sizes),
            Err(reason) => (TaskResponse::PdfFailed { reason }, Vec::new()),
        },
        Task::PdfLayer { page } => match pdf::read_page_layer(bytes, page) {
            Ok(Some(layer)) => json_response(&layer),
            Ok(None) => (TaskResponse::NoPage, Vec::new()),
            Err(reason) => (TaskResponse::PdfFailed { reason }, Vec::new()),
        },
        Task::PdfPicture { page, width } => match pdf::draw_page(bytes, page, width) {
            Ok(Some((picture, webp))) => (TaskResponse::Picture(picture), webp),
            Ok(None) => (TaskResponse::NoPage, Vec::new()),
            Err(reason) => (TaskResponse::PdfFailed { reason }, Vec::new()),
        },
        Task::Feed { url } => json_response(&feed::read_feed(&bytes, &url)),
        Task::WebPicture => json_response(&picture::read_picture(&bytes)),
        Task::Opml => json_response(&feed::read_opml(&String::from_utf8_lossy(&bytes))),
    }
}

/// Values that may be too large for a header are sent as text.
fn json_response(value: &impl Serialize) -> (TaskResponse, Vec<u8>) {
    match serde_json::to_vec(value) {
        Ok(json) => (TaskResponse::Json, json),
        Err(_) => (TaskResponse::TooLarge, Vec::new()),
    }
}
