//! The command that starts a child.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// The subcommand that makes this program a child process.
pub const SUBCOMMAND: &str = "parse-worker";

/// The command that starts a child.
#[derive(Clone, Debug)]
pub struct SandboxCommand {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// The arguments of the program; [`SUBCOMMAND`] alone for this program.
    pub args: Vec<OsString>,
}

impl SandboxCommand {
    /// Returns the command that starts this program as a child.
    ///
    /// # Errors
    /// [`io::Error`] when the path of this program cannot be found out.
    pub fn this_program() -> io::Result<Self> {
        // Through this link a server whose file was replaced by an update starts children of its version.
        let link = PathBuf::from("/proc/self/exe");
        let program = if link.exists() { link } else { std::env::current_exe()? };
        Ok(Self { program, args: vec![SUBCOMMAND.into()] })
    }
}
