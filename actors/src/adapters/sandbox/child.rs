//! The child's life: confine itself, say how far that went, then answer one task after the other.
//!
//! The frames go both ways over the socket that the parent put in the place of standard input, so that nothing that
//! a parser prints can get between them. The child ends when the parent is gone. A panic, a stack or a heap that is used up
//! ends it too: the parent takes that for an answer and starts another. The parent reads standard error only when the child has
//! died, so the child writes next to nothing to it.

use std::{
    io,
    os::{fd::AsFd, unix::net::UnixStream},
    panic,
    process::ExitCode,
    thread,
};

use serde::Serialize;

use super::{
    article, feed, import,
    limits::{self, Confinement, Meter},
    pdf, sound,
    wire::{self, Duty, Hello, Reply, Setup, Task, WireError},
};
use crate::kit::{HEAVY_REQUEST_NICE, lower_thread_priority};

/// Room for parsers that descend a document by recursion. Only what is touched becomes memory.
const STACK_BYTES: usize = 128 * 1024 * 1024;

/// What turns a task and its bytes into a reply and its text.
pub(super) type Perform = fn(Task, Vec<u8>) -> (Reply, String);

/// Serves one parent until it closes the pipe: all that `carrel parse-worker` does. To be called first of all in the
/// process, before there is a second thread.
pub fn run() -> ExitCode {
    serve(perform)
}

/// As [`run`], with another way to perform tasks.
pub(super) fn serve(perform: Perform) -> ExitCode {
    match begin(perform) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn begin(perform: Perform) -> Result<(), WireError> {
    // Panics are told by how the child ends. Their messages may quote the page, and would fill the pipe of stderr.
    panic::set_hook(Box::new(|_| {}));
    let mut parent = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (setup, _) = wire::read::<Setup>(&mut parent, 0)?;
    // A PDF takes seconds of a core. The time limits of the parent allow for the lower priority.
    lower_thread_priority(HEAVY_REQUEST_NICE);
    let (held, meter) = limits::confine(&setup);
    let reader = thread::Builder::new().stack_size(STACK_BYTES);
    let reader = reader.spawn(move || answer_all(parent, &setup, held, meter, perform))?;
    reader.join().unwrap_or_else(|_| Err(io::Error::other("a parser panicked").into()))
}

fn answer_all(
    mut parent: UnixStream,
    setup: &Setup,
    mut held: Confinement,
    mut meter: Meter,
    perform: Perform,
) -> Result<(), WireError> {
    limits::no_new_processes(&mut held);
    wire::write(&mut parent, &Hello { confinement: held }, &[])?;
    match setup.duty {
        Duty::Tasks => {}
        Duty::Sound => return sound::child::answer_all(parent, meter),
        Duty::Import => return import::child::answer_all(parent, meter),
    }
    loop {
        let (task, bytes) = wire::read::<Task>(&mut parent, setup.input_bytes)?;
        // Without a share of its own the job still has what the wall clock leaves it.
        let _ = meter.renew();
        let (reply, text) = perform(task, bytes);
        match text.len() > setup.output_bytes {
            true => wire::write(&mut parent, &Reply::TooLarge, &[])?,
            false => wire::write(&mut parent, &reply, text.as_bytes())?,
        }
    }
}

/// Does what a task asks for.
pub(super) fn perform(task: Task, bytes: Vec<u8>) -> (Reply, String) {
    match task {
        Task::Article { url, called } => {
            match article::read(&String::from_utf8_lossy(&bytes), &url, called.as_deref()) {
                Ok(mut article) => {
                    let mut text = std::mem::take(&mut article.text);
                    if let Some(html) = article.html.take() {
                        text.push(wire::HTML);
                        text.push_str(&html);
                    }
                    (Reply::Article(Box::new(article)), text)
                }
                Err(reason) => (Reply::Unreadable { reason }, String::new()),
            }
        }
        Task::Pdf => match pdf::read(bytes) {
            Ok((facts, text)) => (Reply::Pdf(Box::new(facts)), text),
            Err(reason) => (Reply::NoText { reason }, String::new()),
        },
        Task::Feed { url } => json(&feed::read(&bytes, &url)),
        Task::Opml => json(&feed::read_opml(&String::from_utf8_lossy(&bytes))),
    }
}

/// Shapes that are too large for a header travel as text.
fn json(found: &impl Serialize) -> (Reply, String) {
    match serde_json::to_string(found) {
        Ok(text) => (Reply::Json, text),
        Err(_) => (Reply::TooLarge, String::new()),
    }
}
