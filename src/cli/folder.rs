//! The folder of the data: made with 0700, its database with 0600 (contract.md, section 11: Accounts).

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::failure::Failure;
use crate::data_dir::{database_file, private_folder};
use crate::settings::Settings;

/// Makes the folder where it is not there yet.
pub fn make(settings: &Settings) -> Result<(), Failure> {
    let folder = &settings.data_dir;
    let made = private_folder(folder);
    made.map_err(|cause| Failure::Path { what: "make the folder", path: folder.clone(), cause })
}

/// Makes the file of an own SQLite database, and the folder for it, where they are not there yet. SQLite gives the
/// files that it puts beside the database the same rights.
pub fn make_with_database(settings: &Settings) -> Result<(), Failure> {
    make(settings)?;
    if settings.database.url.is_some() {
        return Ok(());
    }
    let file = database_file(&settings.data_dir);
    make_file(&file).map_err(|cause| Failure::Path { what: "make the database", path: file, cause })
}

fn make_file(file: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(file).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_folder_and_the_database_are_their_owners_alone() {
        let settings = crate::cli::tests::settings("folder");

        make_with_database(&settings).unwrap();
        make_with_database(&settings).unwrap();

        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&settings.data_dir), 0o700);
        assert_eq!(mode(&database_file(&settings.data_dir)), 0o600);
        fs::remove_dir_all(&settings.data_dir).unwrap();
    }
}
