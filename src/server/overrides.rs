//! What tests replace when they start the server.

use std::io;

use database::Db;
use sandbox::SandboxCommand;

/// The parts of the server's surroundings that tests replace.
pub struct Overrides {
    /// The command that starts the child processes, which parse foreign bytes.
    pub sandbox: SandboxCommand,
    /// The open database; `None` opens the one that the settings name.
    pub database: Option<Db>,
}

impl Overrides {
    /// The surroundings of the program: its child processes run the program itself, and the settings name its database.
    ///
    /// # Errors
    /// [`io::Error`] when the path of the program cannot be found.
    pub fn none() -> io::Result<Self> {
        Ok(Self { sandbox: SandboxCommand::this_program()?, database: None })
    }
}
