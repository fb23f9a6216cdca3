//! Folders that the server writes to: whether they exist or can be created, and whether files can be written there.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::check::Check;
use crate::server::{StartFault, create_data_dir};

const NAME: &str = "data folder";

/// Checks the folder of `data_dir`.
pub fn check_data_dir(folder: &Path) -> Check {
    let rights = match fs::metadata(folder) {
        Ok(found) if found.is_dir() => found.permissions().mode() & 0o777,
        Ok(_) => {
            return Check::wrong(
                NAME,
                format!("{} is not a folder", folder.display()),
                "set data_dir to a folder",
            );
        }
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return match try_to_create(folder, create_data_dir) {
                Ok(()) => Check::warning(
                    NAME,
                    format!("{} does not exist yet (setting data_dir)", folder.display()),
                    "the server creates it at its first start",
                ),
                Err(fault) => Check::stopping_start(NAME, fault),
            };
        }
        Err(cause) => {
            return Check::wrong(
                NAME,
                format!("could not read {}: {cause}", folder.display()),
                "make it readable and writable by the user that runs the server (`chown`)",
            );
        }
    };
    if let Err(cause) = try_to_write(folder) {
        let found = format!("could not write to {}: {cause}", folder.display());
        let advice = "make it writable by the user that runs the server (`chown`), or free some space";
        return Check::wrong(NAME, found, advice);
    }
    if rights & 0o077 != 0 {
        let found = format!("{} is accessible to other users (mode {rights:03o})", folder.display());
        return Check::warning(NAME, found, format!("run `chmod 700 {}`", folder.display()));
    }
    Check::good(NAME, format!("{} is writable, and accessible only to its owner", folder.display()))
}

/// Creates a folder as the start does, and removes it again, with the folders around it that did not exist.
pub fn try_to_create(
    folder: &Path,
    create: impl FnOnce(&Path) -> Result<(), StartFault>,
) -> Result<(), StartFault> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|folder| matches!(folder.try_exists(), Ok(false))).collect();
    let created = create(folder);
    for folder in missing {
        // Fails where it was not created, and where another process has written to it meanwhile.
        let _ = fs::remove_dir(folder);
    }
    created
}

/// Creates a file in the folder and removes it: permissions, a full disk and a read-only mount each fail with a different error.
pub fn try_to_write(folder: &Path) -> io::Result<()> {
    let trial = folder.join(format!(".doctor-{}", std::process::id()));
    let written = fs::write(&trial, b"carrel doctor");
    // Removed even if only a part of it could be written.
    let removed = fs::remove_file(&trial);
    written.and(removed)
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckState;
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let place = std::env::temp_dir().join(format!("carrel-doctor-{name}-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        place
    }

    #[test]
    fn folder_that_others_can_read_is_a_warning_with_advice() {
        let place = folder("open");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
        let open = check_data_dir(&place);
        fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
        let own = check_data_dir(&place);
        fs::remove_dir_all(&place).unwrap();

        assert_eq!((open.state, own.state), (CheckState::Warning, CheckState::Good));
        assert_eq!(open.advice, Some(format!("run `chmod 700 {}`", place.display())));
    }

    #[test]
    fn folder_that_is_a_file_is_wrong_and_a_missing_one_is_not() {
        let place = folder("file");
        let file = place.join("data");
        fs::write(&file, b"").unwrap();

        assert_eq!(check_data_dir(&file).state, CheckState::Wrong);
        assert_eq!(check_data_dir(&place.join("none/none")).state, CheckState::Warning);
        assert!(!place.join("none").exists());
        fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn folder_that_cannot_be_created_is_wrong() {
        let check = check_data_dir(Path::new("/proc/carrel"));

        assert_eq!(check.state, CheckState::Wrong);
        assert!(check.found.starts_with("could not use the folder data_dir = /proc/carrel: "), "{check}");
    }
}
