//! What tests replace when they start the server.

use std::io;

use database::Db;
use sandbox::SandboxCommand;

/// Changes a database after it was opened and before anything else uses it.
pub type ChangeDatabase = Box<dyn FnOnce(&mut Db)>;

/// The parts of the server's surroundings that tests replace.
pub struct Overrides {
    /// The command that starts the child processes, which parse foreign bytes.
    pub sandbox: SandboxCommand,
    /// `None` leaves the database as it is.
    pub change_database: Option<ChangeDatabase>,
}

impl Overrides {
    /// The surroundings of the program: its child processes run the program itself.
    ///
    /// # Errors
    /// [`io::Error`] when the path of the program cannot be found.
    pub fn none() -> io::Result<Self> {
        Ok(Self { sandbox: SandboxCommand::this_program()?, change_database: None })
    }
}
