//! Confirmation of actions that cannot be undone: the user types the name of what is deleted. Scripts pass `--yes`.

use std::io::{self, BufRead, IsTerminal, Write};

use super::failure::Failure;
use super::output::shown;

/// Asks on the terminal for the e-mail address of the account that is about to be deleted.
///
/// # Errors
/// [`Failure::NoConfirmation`] when there is no terminal; [`Failure::Confirmation`] when it cannot be read; [`Failure::NotConfirmed`]
/// when something else was typed.
pub fn confirm_account_deletion(email: &str) -> Result<(), Failure> {
    // A script must not delete an account because its input happens to contain the address; it uses `--yes`.
    if !io::stdin().is_terminal() {
        return Err(Failure::NoConfirmation);
    }
    let typed = ask(email).map_err(Failure::Confirmation)?;
    if is_confirmed(&typed, email) { Ok(()) } else { Err(Failure::NotConfirmed) }
}

fn ask(email: &str) -> io::Result<String> {
    let mut stderr = io::stderr();
    writeln!(stderr, "This deletes the account {} with its library, keys and connected apps.", shown(email))?;
    write!(stderr, "It cannot be undone. Type the e-mail address of the account to confirm: ")?;
    stderr.flush()?;
    let mut typed = String::new();
    io::stdin().lock().read_line(&mut typed)?;
    Ok(typed)
}

/// E-mail addresses are stored and compared in lower case.
fn is_confirmed(typed: &str, email: &str) -> bool {
    typed.trim().to_lowercase() == email
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletion_is_confirmed_by_the_address_alone() {
        assert!(is_confirmed("A@b.example \r\n", "a@b.example"));
        for typed in ["", "\n", "y\n", "yes\n", "b@b.example\n"] {
            assert!(!is_confirmed(typed, "a@b.example"), "{typed:?}");
        }
    }
}
