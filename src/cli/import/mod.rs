//! `carrel import`: a file of saves into a library. What was read is in soon after, some lines at a time, so an import
//! that was stopped is run again and goes on: what is in already only gets its tags.

mod batch;
mod line;
mod report;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use actors::address::{Guard, PageUrl};
use clap::{Args, ValueEnum};

use self::batch::Batches;
use self::report::Report;
use super::failure::Failure;
use super::lines::{self, Line, Lines};
use super::output::Said;
use super::{opening, probe, progress};
use crate::settings::Settings;

/// What to import, and for whom.
#[derive(Debug, Args)]
pub struct Asked {
    /// Address of the account
    #[arg(long, value_name = "ADDRESS")]
    user: String,
    /// What the file is
    #[arg(long)]
    format: Format,
    /// The file, or - for standard input
    file: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// One JSON object a line, with the fields of POST /bookmarks
    Jsonl,
}

/// Imports the file, and reports.
pub async fn run(asked: Asked, settings: &Settings) -> Result<Said, Failure> {
    let desk = opening::desk(settings).await?;
    let owner = opening::account(&desk, &asked.user).await?;
    let batches = Batches::new(desk, owner.id);
    let mut report = match asked.format {
        Format::Jsonl => jsonl(&asked.file, &guard(settings), batches).await?,
    };
    report.server_running = probe::runs(settings).await;
    Ok(Said::of(&report)?.ended(report.is_good()))
}

/// Where pages may be fetched from: the same rules as the server's.
fn guard(settings: &Settings) -> Guard {
    let base = settings.base_url(settings.server.listen);
    let own = PageUrl::parse(base.as_str()).ok().map(|url| (url.host().to_owned(), url.port()));
    Guard::new(settings.fetch.allow_private.clone(), own)
}

async fn jsonl(file: &Path, guard: &Guard, mut batches: Batches) -> Result<Report, Failure> {
    let told = |cause| Failure::Path { what: "read", path: file.to_owned(), cause };
    let mut lines = Lines::of(open(file).map_err(told)?);
    while let Some((number, line)) = lines.next().map_err(told)? {
        let (size, read) = match line {
            Line::Whole(bytes) => (bytes.len(), line::read(&bytes, guard)),
            Line::TooLong => (0, Err(format!("is longer than {} MiB", lines::LONGEST >> 20))),
        };
        batches.take(number, read, size).await?;
    }
    batches.finish().await
}

fn open(file: &Path) -> io::Result<Box<dyn BufRead>> {
    let (from, size): (Box<dyn Read>, _) = if file == Path::new("-") {
        (Box::new(io::stdin()), None)
    } else {
        let opened = File::open(file)?;
        let size = opened.metadata()?.len();
        (Box::new(opened), Some(size))
    };
    Ok(Box::new(BufReader::new(progress::bytes("importing".to_owned(), size).wrap_read(from))))
}

#[cfg(test)]
mod tests;
