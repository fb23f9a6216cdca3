//! Creates the data folder with mode 0700 and its database with mode 0600 (contract.md, section 11: Accounts).

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::failure::Failure;
use crate::data_dir::{database_file, give_to_owner, private_folder};
use crate::settings::Settings;

/// Creates the data folder if it does not exist.
///
/// # Errors
/// [`Failure::Path`] when it cannot be created.
pub fn create(settings: &Settings) -> Result<(), Failure> {
    let folder = &settings.data_dir;
    let made = private_folder(folder);
    made.map_err(|cause| Failure::Path { what: "create the folder", path: folder.clone(), cause })
}

/// Creates the file of an SQLite database, and the folder for it, if they do not exist.
///
/// # Errors
/// [`Failure::Path`] when one of them cannot be created.
pub fn create_with_database(settings: &Settings) -> Result<(), Failure> {
    create(settings)?;
    if settings.database.url.is_some() {
        return Ok(());
    }
    // Created here, because SQLite would create it with the usual permissions. Its other files
    // get those of the database.
    let file = database_file(&settings.data_dir);
    create_file(&file).map_err(|cause| Failure::Path { what: "create the database", path: file, cause })
}

fn create_file(file: &Path) -> io::Result<()> {
    match OpenOptions::new().append(true).create_new(true).mode(0o600).open(file) {
        // A command that root runs must not leave a file that the server cannot open.
        Ok(_) => give_to_owner(file),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    use super::*;
    use crate::data_dir::FILES_FOLDER;

    #[test]
    fn folder_and_database_are_accessible_to_their_owner_only() {
        let settings = crate::cli::tests::settings("folder");

        create_with_database(&settings).unwrap();
        create_with_database(&settings).unwrap();

        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&settings.data_dir), 0o700);
        assert_eq!(mode(&database_file(&settings.data_dir)), 0o600);
        fs::remove_dir_all(&settings.data_dir).unwrap();
    }

    #[test]
    fn files_made_by_root_belong_to_the_account_of_the_server() {
        let settings = crate::cli::tests::settings("server");
        create(&settings).unwrap();
        if chown(&settings.data_dir, Some(65534), Some(65534)).is_err() {
            eprintln!("skipped: only root may give a folder to another account");
            return;
        }
        let files = settings.data_dir.join(FILES_FOLDER);

        create_with_database(&settings).unwrap();
        private_folder(&files).unwrap();

        let owner = |path: &Path| fs::metadata(path).unwrap().uid();
        assert_eq!([owner(&database_file(&settings.data_dir)), owner(&files)], [65534, 65534]);
        fs::remove_dir_all(&settings.data_dir).unwrap();
    }
}
