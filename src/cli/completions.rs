//! `carrel completions`: a script that completes the command line in a shell.

use std::fmt;

use clap::{Args, Command};
use clap_complete::{Shell, generate};
use serde::Serialize;

use super::failure::Failure;
use super::output::CommandOutput;

/// The shell.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell to print the script for
    shell: Shell,
}

/// Returns the script that completes the command, which is printed as it is.
pub fn run(args: &CompletionsArgs, mut command: Command) -> Result<CommandOutput, Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut command, "carrel", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    CommandOutput::of(&CompletionScript { shell: args.shell.to_string(), script })
}

#[derive(Serialize)]
struct CompletionScript {
    shell: String,
    script: String,
}

impl fmt::Display for CompletionScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.script)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn every_shell_gets_a_script_with_every_command() {
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let mut script = Vec::new();

            generate(shell, &mut command(), "carrel", &mut script);

            let script = String::from_utf8(script).unwrap();
            let missing: Vec<_> = command()
                .get_subcommands()
                .map(|command| command.get_name().to_owned())
                .filter(|name| !script.contains(name))
                .collect();
            assert!(missing.is_empty(), "{shell}: {missing:?}");
        }
    }
}
