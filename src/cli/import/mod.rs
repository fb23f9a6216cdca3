//! `carrel import`: a file of another program, or an export, into a library. Its rows are in soon after, some at a time;
//! what is to be fetched, read and indexed of them is left to the server. An import that was stopped is run again and goes
//! on: what is in already only gets its tags.

mod report;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use actors::adapters::sandbox::import::Import;
use actors::adapters::sandbox::{Sandbox, SandboxCommand, SandboxSettings};
use actors::address::{Guard, PageUrl};
use actors::desk::Desk;
use actors::error::Error;
use actors::imports::{self, Format, Means, New, Unread};
use clap::Args;
use entity::import;
use entity::kind::ImportState;

use self::report::Report;
use super::failure::{Failure, words};
use super::output::Said;
use super::{opening, probe, progress};
use crate::server;
use crate::settings::Settings;

/// Tries while the database is busy, each after several seconds of waiting for it.
const TRIES: u32 = 3;

/// What to import, and for whom.
#[derive(Debug, Args)]
pub struct Asked {
    /// Address of the account
    #[arg(long, value_name = "ADDRESS")]
    user: String,
    /// What the file is; found out when left out
    #[arg(long, value_parser = format)]
    format: Option<Format>,
    /// Say what would come of it, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// The file, or - for standard input
    file: PathBuf,
}

fn format(name: &str) -> Result<Format, String> {
    name.parse().map_err(|_| format!("is none of {}", Format::NAMES.join(", ")))
}

/// Imports the file, and reports.
pub async fn run(asked: Asked, settings: &Settings) -> Result<Said, Failure> {
    let desk = opening::desk(settings).await?;
    let owner = opening::account(&desk, &asked.user).await?;
    let means =
        Means { store: server::files(settings).map_err(Failure::Service)?, guard: guard(settings), desk };
    let file = Here::of(&asked.file)?;
    let new = New { user: owner.id, format: asked.format, dry_run: asked.dry_run };
    let taken = take(&means, new, &file).await?;
    if !matches!(taken.state, ImportState::Done | ImportState::Checked) {
        let rows = u64::try_from(taken.done).unwrap_or_default();
        return Err(Failure::Stopped { rows, why: "it was paused or taken back in the app".to_owned() });
    }
    let report = Report::of(&means.desk, &taken, probe::runs(settings).await).await?;
    Ok(Said::of(&report)?.ended(report.is_good()))
}

/// Where pages may be fetched from: the same rules as the server's.
fn guard(settings: &Settings) -> Guard {
    let base = settings.base_url(settings.server.listen);
    let own = PageUrl::parse(base.as_str()).ok().map(|url| (url.host().to_owned(), url.port()));
    Guard::new(settings.fetch.allow_private.clone(), own)
}

/// A file that can be read from its beginning as often as need be.
struct Here {
    file: File,
}

impl Here {
    fn of(path: &Path) -> Result<Self, Failure> {
        let told = |cause| Failure::Path { what: "read", path: path.to_owned(), cause };
        if path != Path::new("-") {
            return Ok(Self { file: File::open(path).map_err(told)? });
        }
        let mut file = tempfile::tempfile().map_err(told)?;
        io::copy(&mut io::stdin(), &mut file).map_err(told)?;
        Ok(Self { file })
    }

    fn opened(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

async fn take(means: &Means, new: New, file: &Here) -> Result<import::Model, Failure> {
    let command = SandboxCommand::this_program().map_err(Failure::Runtime)?;
    let sandbox = Sandbox::new(command, SandboxSettings::default());
    let reading = sandbox.import(file.opened().map_err(Failure::Runtime)?, new.format).await;
    let reading = reading.map_err(|error| Failure::NotImported(error.to_string()))?;
    let row = imports::note(&means.desk, new, &reading).await?;
    let why = tokio::select! {
        taken = take_rows(means, &row, reading, &sandbox, file) => match taken {
            Ok(done) => return Ok(done),
            Err(Unread::Sandbox(error)) => error.to_string(),
            Err(Unread::Inside(error)) => words(&error),
        },
        _ = server::wait_for_signal() => "it was interrupted".to_owned(),
    };
    Err(stopped(&means.desk, &row, why).await)
}

/// Takes the rows in; where a server beside this keeps the database busy for a while, on from where that was.
async fn take_rows(
    means: &Means,
    begun: &import::Model,
    mut reading: Import,
    sandbox: &Sandbox,
    file: &Here,
) -> Result<import::Model, Unread> {
    let (mut row, mut tries) = (begun.clone(), 1);
    loop {
        let wait = match go_on(means, row, &mut reading).await {
            Err(Unread::Inside(Error::Busy(wait))) if tries < TRIES => wait,
            ended => return ended,
        };
        tries += 1;
        tokio::time::sleep(wait).await;
        row = imports::find(&means.desk, begun.user_id, begun.id).await?;
        let opened = file.opened().map_err(Error::internal)?;
        reading = sandbox.import(opened, Some(reading.format())).await?;
        reading.pass(u64::try_from(row.done).unwrap_or_default()).await?;
    }
}

async fn go_on(means: &Means, row: import::Model, reading: &mut Import) -> Result<import::Model, Unread> {
    let bar = progress::count("importing");
    let told = |rows| bar.set_position(u64::try_from(rows).unwrap_or_default());
    imports::take_all(means, row, reading, told).await
}

/// Writes down that it did not come to its end, and says how far it came.
async fn stopped(desk: &Desk, row: &import::Model, why: String) -> Failure {
    // Where the database is gone there is nothing to write down, and nobody to tell but the caller.
    let _ = imports::give_up(desk, row, &why).await;
    let rows = imports::find(desk, row.user_id, row.id).await.map_or(row.done, |row| row.done);
    Failure::Stopped { rows: u64::try_from(rows).unwrap_or_default(), why }
}
