//! The command line, with one file per subcommand. While a server runs, commands write only rows, jobs, files to import, and models:
//! the server owns the index and all other files (contract.md, section 11).

mod ai;
mod app;
mod choices;
mod completions;
mod confirmation;
mod doctor;
mod eval;
mod export;
mod failure;
mod folder;
mod import;
mod imports;
mod jobs;
mod key;
mod migrate;
mod models;
mod openapi;
mod opening;
mod output;
mod password;
mod probe;
mod progress;
mod project;
mod reindex;
mod serve;
mod user;
mod waiting;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use self::failure::Failure;
use self::output::CommandOutput;
use crate::settings::Settings;

const CONFIG_NOTE: &str = "The option --config FILE precedes the subcommand: `carrel --config /etc/carrel.toml ...`. Use the settings \
                           of the server; without them, the command uses ./data in the current folder.";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "carrel", version, about = "A personal reading library with a REST API and an MCP server")]
struct Cli {
    /// Settings file that overrides the built-in defaults; must precede the subcommand
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON object instead of text, for errors too
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the server (default)
    Serve,
    /// Create, change and delete accounts
    #[command(subcommand)]
    User(user::UserCommand),
    /// Create, list and revoke API keys
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// List and disconnect the apps that users connected by OAuth
    #[command(subcommand)]
    App(app::AppCommand),
    /// Create, list, archive and activate projects
    #[command(subcommand)]
    Project(project::ProjectCommand),
    /// Import bookmarks from another program, or a Carrel export
    Import(import::ImportArgs),
    /// List, start, pause, resume and undo imports
    #[command(subcommand)]
    Imports(imports::ImportsCommand),
    /// List and retry background jobs that failed permanently
    #[command(subcommand)]
    Jobs(jobs::JobsCommand),
    /// Export everything in an account into one file
    Export(export::ExportArgs),
    /// Pause the models until midnight UTC, resume them, or show their state
    #[command(subcommand)]
    Ai(ai::AiCommand),
    /// Fetch, list, verify and import the local models
    #[command(subcommand)]
    Models(models::ModelsCommand),
    /// Rebuild the search index, or move it between the data folder and a Qdrant server
    ///
    /// A rebuild is not needed after an index was lost or damaged, or after a change of the model: the server sees to both. It is for results
    /// that stay wrong, such as words that are in a text and do not find it. All texts are embedded again: an endpoint
    /// (`ai.embedding.url`) gets every passage, and may charge for it. A move embeds nothing.
    Reindex(reindex::ReindexArgs),
    /// Judge search by a set of texts and queries
    ///
    /// The texts are saved in a temporary library, and the queries are searched for with the operations that serve clients. Prints nDCG@10,
    /// recall@20 and the mean reciprocal rank, in all and by kind of query, of hybrid and of lexical search.
    Eval(eval::EvalArgs),
    /// Check the installation and suggest repairs
    ///
    /// Run it as the user that runs the server: root can write to every folder, so the checks would miss wrong permissions.
    Doctor(doctor::DoctorArgs),
    /// Create the database, or bring its tables up to date
    ///
    /// On PostgreSQL the database must exist; its tables are created. The server and every other command that opens the database,
    /// except `doctor`, also bring the tables up to date.
    Migrate,
    /// Print the OpenAPI description of the REST API
    Openapi,
    /// Print a shell completion script
    Completions(completions::CompletionsArgs),
}

/// Returns the definition of every command with its arguments, for help and completions.
pub fn command() -> clap::Command {
    with_config_note(Cli::command())
}

/// Adds [`CONFIG_NOTE`] to the long help of every subcommand, which does not list the option.
fn with_config_note(command: clap::Command) -> clap::Command {
    command.mut_subcommands(|subcommand| with_config_note(subcommand.after_long_help(CONFIG_NOTE)))
}

/// Parses the arguments of a process, of which the first is the name of the program.
fn parse_arguments(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))
}

/// Runs the command that the arguments of this process name.
pub fn run() -> ExitCode {
    let cli = match parse_arguments(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let json = cli.json;
    match cli.run() {
        Ok(output) => output.print(json),
        Err(failure) => failure.print(json),
    }
}

/// Prints why the arguments could not be parsed. Help and version come this way too, and are not errors.
fn refuse(error: &clap::Error) -> ExitCode {
    // `--json` may be among arguments that could not be parsed.
    let json = std::env::args_os().any(|argument| argument == "--json");
    if json && error.use_stderr() {
        failure::print_usage(error);
    } else {
        // If the message cannot be printed, the status still reports the error.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

impl Cli {
    fn run(self) -> Result<CommandOutput, Failure> {
        // Not refused here: `doctor` reports wrong settings, and `completions` needs none.
        let settings = Settings::load(self.config.as_deref(), Settings::environment());
        match self.command.unwrap_or(Command::Serve) {
            Command::Serve => serve::run(settings?),
            Command::User(command) => wait(user::run(command, &settings?)),
            Command::Key(command) => wait(key::run(command, &settings?)),
            Command::App(command) => wait(app::run(command, &settings?)),
            Command::Project(command) => wait(project::run(command, &settings?)),
            Command::Import(args) => wait(import::run(args, &settings?)),
            Command::Imports(command) => wait(imports::run(command, &settings?)),
            Command::Jobs(command) => wait(jobs::run(command, &settings?)),
            Command::Export(args) => wait(export::run(args, &settings?)),
            Command::Ai(command) => wait(ai::run(command, &settings?)),
            Command::Models(command) => wait(models::run(command, &settings?)),
            // It runs on a system of its own.
            Command::Eval(args) => eval::run(&args, settings?),
            Command::Reindex(args) => wait(reindex::run(args, &settings?)),
            // It reports wrong settings too.
            Command::Doctor(args) => wait(doctor::run(args, self.config.as_deref(), settings)),
            Command::Migrate => wait(migrate::run(&settings?)),
            Command::Openapi => openapi::run(&settings?),
            Command::Completions(args) => completions::run(&args, command()),
        }
    }
}

/// Runs a short command to its end, on this thread.
fn wait(command: impl Future<Output = Result<CommandOutput, Failure>>) -> Result<CommandOutput, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Failure::Runtime)?.block_on(command)
}

#[cfg(test)]
mod tests;
