//! The free space of the disks of the data folder, the database and the stored files, against `storage.min_free_bytes`.

use std::path::{Path, PathBuf};

use disk::{DiskSpace, SpaceLevel, available_bytes};
use indicatif::HumanBytes;

use super::check::{Check, CheckState};
use crate::cli::probe::ServerProbe;
use crate::settings::{FilesUrl, Settings};

const NAME: &str = "disk space";
/// With less free space than this multiple of the floor, the disk is reported as almost full.
const AMPLE_FLOORS: u64 = 4;
const ADVICE: &str = "free some space, or move the folder to a larger disk";

/// A folder whose disk is measured.
#[derive(Debug, PartialEq, Eq)]
struct CheckedFolder {
    path: PathBuf,
    /// Whether the server reserves space in it. Writes cannot use the missing part of the reserve.
    has_reserve: bool,
}

/// Measures the disk of each folder that exists. If a running server refuses writes for lack of space,
/// one of the checks reports it.
pub fn check(settings: &Settings, server: &ServerProbe) -> Vec<Check> {
    let floor = settings.storage.min_free_bytes;
    let folders = folders(settings).into_iter().filter(|folder| folder.path.is_dir());
    let mut checks: Vec<Check> = folders.map(|folder| judge(&folder, floor)).collect();
    let is_refusing = server.storage.as_deref() == Some("full");
    if is_refusing && checks.iter().all(|check| check.state != CheckState::Wrong) {
        let found = format!(
            "the running server refuses writes: a disk has at most {} free (storage.min_free_bytes), has too few free inodes, or is full",
            HumanBytes(floor)
        );
        checks.push(Check::wrong(NAME, found, ADVICE));
    }
    checks
}

fn folders(settings: &Settings) -> Vec<CheckedFolder> {
    let with_reserve = |path| CheckedFolder { path, has_reserve: true };
    let mut folders = vec![with_reserve(settings.data_dir.clone())];
    let database = settings.database_url().sqlite_file();
    folders.extend(database.as_deref().and_then(Path::parent).map(Path::to_owned).map(with_reserve));
    if let FilesUrl::Folder(path) = settings.files_url() {
        folders.push(CheckedFolder { path, has_reserve: false });
    }
    let mut apart: Vec<CheckedFolder> = Vec::new();
    for folder in folders {
        // A folder within a measured one is on the same disk, or is a mount that the operator knows of.
        if !apart.iter().any(|known| folder.path.starts_with(&known.path)) {
            apart.push(folder);
        }
    }
    apart
}

fn judge(folder: &CheckedFolder, floor: u64) -> Check {
    let place = folder.path.display();
    let free = match available_bytes(&folder.path) {
        Ok(free) => free,
        Err(cause) => {
            let found = format!("the free space of {place} could not be read: {cause}");
            return Check::warning(NAME, found, "check that the disk is mounted");
        }
    };
    let (left, least) = (HumanBytes(free), HumanBytes(floor));
    match level(folder, floor) {
        SpaceLevel::Full | SpaceLevel::BelowFloor => {
            let reserve =
                if folder.has_reserve { " in addition to the space that the server reserves" } else { "" };
            let found = format!(
                "the server refuses writes: {place} has {left} free, and more than {least} (storage.min_free_bytes) must be free{reserve}, \
                 and some inodes"
            );
            Check::wrong(NAME, found, ADVICE)
        }
        SpaceLevel::AboveFloor if free < floor.saturating_mul(AMPLE_FLOORS) => {
            let found = format!(
                "{place} has {left} free; below {least} (storage.min_free_bytes) the server refuses writes"
            );
            Check::warning(NAME, found, ADVICE)
        }
        SpaceLevel::AboveFloor => Check::good(NAME, format!("{place} has {left} free")),
    }
}

/// The level by which the server decides whether it refuses writes.
fn level(folder: &CheckedFolder, floor: u64) -> SpaceLevel {
    let folders = vec![folder.path.clone()];
    let disk = if folder.has_reserve {
        DiskSpace::with_reserves(folders, floor)
    } else {
        DiskSpace::new(folders, floor)
    };
    disk.level()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::probe::ServerState;

    fn checked(folder: &tempfile::TempDir, has_reserve: bool) -> CheckedFolder {
        CheckedFolder { path: folder.path().to_owned(), has_reserve }
    }

    #[test]
    fn free_space_is_judged_by_the_floor() {
        let folder = tempfile::tempdir().unwrap();
        let free = available_bytes(folder.path()).unwrap();

        let states = [0, 1, free / 2, u64::MAX].map(|floor| judge(&checked(&folder, false), floor).state);

        assert_eq!(states, [CheckState::Good, CheckState::Good, CheckState::Warning, CheckState::Wrong]);
    }

    #[test]
    fn space_to_be_reserved_is_not_for_writes() {
        let folder = tempfile::tempdir().unwrap();
        // Above the floor, but by less than the space that the server reserves.
        let floor = available_bytes(folder.path()).unwrap() - (8 << 20);

        let [with, without] = [true, false].map(|has_reserve| judge(&checked(&folder, has_reserve), floor));

        assert_eq!(with.state, CheckState::Wrong, "{with}");
        assert!(with.found.contains("storage.min_free_bytes"), "{with}");
        assert_eq!(without.state, CheckState::Warning, "{without}");
    }

    #[test]
    fn disk_of_a_server_that_refuses_writes_is_wrong() {
        let settings = crate::cli::tests::settings("disk");
        let running = |storage: &str| ServerProbe {
            state: ServerState::Ready,
            storage: Some(storage.to_owned()),
            index: None,
        };

        let [refusing, well] = ["full", "ok"].map(|storage| check(&settings, &running(storage)));

        let is_wrong = |checks: &[Check]| checks.iter().any(|check| check.state == CheckState::Wrong);
        assert!(is_wrong(&refusing) && !is_wrong(&well), "{refusing:?} {well:?}");
    }

    #[test]
    fn folders_within_the_data_folder_are_measured_once() {
        let settings = crate::cli::tests::settings("disk");

        let paths: Vec<PathBuf> = folders(&settings).into_iter().map(|folder| folder.path).collect();

        assert_eq!(paths, [settings.data_dir]);
    }
}
