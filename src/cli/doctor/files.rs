//! The store of files: whether its folder can be written to, or whether its bucket answers.

use std::path::Path;

use storage::blobs::{BucketFault, S3Store};

use super::check::Check;
use super::folders::{try_to_create, try_to_write};
use crate::server;
use crate::settings::{FilesUrl, Settings};

const NAME: &str = "files";

/// Writes to the folder of the stored files, or sends one request to their bucket.
pub async fn check(settings: &Settings) -> Check {
    match settings.files_url() {
        FilesUrl::Folder(folder) => check_folder(&folder),
        FilesUrl::S3(url) => check_bucket(settings, url).await,
    }
}

fn check_folder(folder: &Path) -> Check {
    let place = folder.display();
    if !folder.is_dir() {
        return match try_to_create(folder, server::create_files_folder) {
            Ok(()) => Check::good(NAME, format!("{place} does not exist yet; the server creates it")),
            Err(fault) => Check::stopping_start(NAME, fault),
        };
    }
    match try_to_write(folder) {
        Ok(()) => Check::good(NAME, format!("{place} is writable")),
        Err(cause) => {
            let advice = "make it writable by the user that runs the server (`chown`), or free some space";
            Check::wrong(NAME, format!("could not write to {place}: {cause}"), advice)
        }
    }
}

async fn check_bucket(settings: &Settings, url: String) -> Check {
    let bucket = match server::bucket_settings(&settings.files, url.clone()) {
        Ok(bucket) => bucket,
        Err(fault) => return Check::stopping_start(NAME, fault),
    };
    match S3Store::probe(bucket).await {
        Ok(()) => Check::good(NAME, format!("the store of {url} answers")),
        Err(BucketFault::Settings(cause)) => Check::stopping_start(NAME, server::bucket_fault(&cause)),
        Err(fault @ BucketFault::Denied) => {
            let advice = "allow the access key to read, write and delete objects; ignore this warning if it may, but may not list the \
                          bucket";
            Check::warning(NAME, format!("{url} (setting files.url): {fault}"), advice)
        }
        Err(fault) => {
            let advice =
                "correct the settings of the section files, or make the store reachable from this machine";
            Check::wrong(NAME, format!("{url} (setting files.url): {fault}"), advice)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::check::CheckState;
    use super::*;

    #[test]
    fn folder_is_good_if_it_is_writable_or_can_be_created() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("files");

        assert_eq!(check_folder(folder.path()).state, CheckState::Good);
        assert_eq!(check_folder(&missing).state, CheckState::Good);
        assert!(!missing.exists());
    }

    #[test]
    fn file_in_place_of_the_folder_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("files");
        fs::write(&file, "").unwrap();

        let check = check_folder(&file);

        assert_eq!(check.state, CheckState::Wrong);
        assert!(check.found.starts_with("could not open the file store of files.url: "), "{check}");
    }
}
