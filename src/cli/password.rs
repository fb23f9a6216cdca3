//! Reads a password: a line of standard input, or typed twice at a terminal without being shown. It is never an argument, because the
//! process list and the shell's history would show it.

use std::io::{self, BufRead, IsTerminal};

use super::failure::Failure;

/// The password for an account.
pub fn read_password(from_stdin: bool) -> Result<String, Failure> {
    if from_stdin {
        return first_line(&mut io::stdin().lock()).map_err(Failure::Password);
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::NoTerminal);
    }
    let typed = ask("Password (at least 10 characters, and not easy to guess): ")?;
    let again = ask("Repeat the password: ")?;
    if typed == again { Ok(typed) } else { Err(Failure::PasswordsDiffer) }
}

fn ask(words: &str) -> Result<String, Failure> {
    rpassword::prompt_password(words).map_err(Failure::Password)
}

/// Reads one line without its line break; spaces belong to the password.
fn first_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "standard input is empty"));
    }
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_is_one_line_without_its_end() {
        for input in ["two words 7! \n", "two words 7! \r\nmore\n", "two words 7! "] {
            assert_eq!(first_line(&mut input.as_bytes()).unwrap(), "two words 7! ", "{input:?}");
        }
    }

    #[test]
    fn empty_input_is_no_password() {
        assert!(first_line(&mut "".as_bytes()).is_err());
    }
}
