//! The free space of the disks of the data folder, the database and the stored files, against `storage.min_free_bytes`.

use std::path::{Path, PathBuf};

use disk::{DiskSpace, SpaceLevel, available_bytes};
use indicatif::HumanBytes;

use super::check::Check;
use crate::settings::{FilesUrl, Settings};

const NAME: &str = "disk space";
/// So many times the floor must be free, or the disk is about to be full.
const AMPLE_FLOORS: u64 = 4;
const ADVICE: &str = "free some space, or move the folder to a larger disk";

/// Measures the disk of each folder that exists.
pub fn check(settings: &Settings) -> Vec<Check> {
    let floor = settings.storage.min_free_bytes;
    folders(settings).iter().filter(|folder| folder.is_dir()).map(|folder| judge(folder, floor)).collect()
}

fn folders(settings: &Settings) -> Vec<PathBuf> {
    let mut folders = vec![settings.data_dir.clone()];
    let database = settings.database_url().sqlite_file();
    folders.extend(database.as_deref().and_then(Path::parent).map(Path::to_owned));
    if let FilesUrl::Folder(files) = settings.files_url() {
        folders.push(files);
    }
    let mut apart: Vec<PathBuf> = Vec::new();
    for folder in folders {
        // What lies in a folder that is measured is on the same disk, or is a mount that its operator knows of.
        if !apart.iter().any(|known| folder.starts_with(known)) {
            apart.push(folder);
        }
    }
    apart
}

fn judge(folder: &Path, floor: u64) -> Check {
    let place = folder.display();
    let free = match available_bytes(folder) {
        Ok(free) => free,
        Err(cause) => {
            let found = format!("the disk of {place} could not be measured: {cause}");
            return Check::warning(NAME, found, "see whether the disk is mounted");
        }
    };
    let (left, least) = (HumanBytes(free), HumanBytes(floor));
    match DiskSpace::new(vec![folder.to_owned()], floor).level() {
        SpaceLevel::Full | SpaceLevel::BelowFloor => {
            let found = format!(
                "{place} has {left} free, and nothing is saved below {least} (storage.min_free_bytes) or without inodes"
            );
            Check::wrong(NAME, found, ADVICE)
        }
        SpaceLevel::AboveFloor if free < floor.saturating_mul(AMPLE_FLOORS) => {
            let found =
                format!("{place} has {left} free; below {least} (storage.min_free_bytes) nothing is saved");
            Check::warning(NAME, found, ADVICE)
        }
        SpaceLevel::AboveFloor => Check::good(NAME, format!("{place} has {left} free")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckState;
    use super::*;

    #[test]
    fn free_space_is_judged_by_the_floor() {
        let folder = tempfile::tempdir().unwrap();
        let free = available_bytes(folder.path()).unwrap();

        let states = [0, 1, free / 2, u64::MAX].map(|floor| judge(folder.path(), floor).state);

        assert_eq!(states, [CheckState::Good, CheckState::Good, CheckState::Warning, CheckState::Wrong]);
    }

    #[test]
    fn folders_within_the_data_folder_are_measured_once() {
        let settings = crate::cli::tests::settings("disk");

        assert_eq!(folders(&settings), std::slice::from_ref(&settings.data_dir));
    }
}
