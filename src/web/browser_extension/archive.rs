//! Packs the files of the extension, which are embedded in the program.

use std::io::{Cursor, Write};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_bytes!(concat!("../extension/", $name)).as_slice())),+]
    };
}

/// The files by their names in the archive, in alphabetical order.
pub(super) static FILES: &[(&str, &[u8])] = files![
    "_locales/de/messages.json",
    "_locales/en/messages.json",
    "background.js",
    "extension.css",
    "icon-128.png",
    "icon-16.png",
    "icon-32.png",
    "icon-48.png",
    "manifest.json",
    "options.html",
    "options.js",
    "page.js",
    "popup.html",
    "popup.js",
    "server.js",
    "texts.js",
];

/// Returns the archive. It is the same for each build of the same files.
pub(super) fn pack() -> Result<Vec<u8>, ZipError> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default());
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, contents) in FILES {
        archive.start_file(*name, options)?;
        archive.write_all(contents)?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Read;
    use std::path::Path;

    use serde_json::Value;
    use zip::ZipArchive;

    use super::*;

    /// Returns the paths of the files below a folder.
    fn files_below(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                files_below(&entry.path(), &format!("{name}/"), found);
            } else {
                found.insert(name);
            }
        }
    }

    #[test]
    fn archive_has_each_file_of_the_extension() {
        let mut archive = ZipArchive::new(Cursor::new(pack().unwrap())).unwrap();
        let mut expected = BTreeSet::new();
        files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web/extension"), "", &mut expected);

        let names: BTreeSet<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
        let mut manifest = String::new();
        archive.by_name("manifest.json").unwrap().read_to_string(&mut manifest).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();

        assert_eq!(names, expected);
        assert_eq!(manifest["manifest_version"], 3);
        assert!(names.contains(manifest["background"]["service_worker"].as_str().unwrap()));
        for icon in manifest["icons"].as_object().unwrap().values() {
            assert!(names.contains(icon.as_str().unwrap()));
        }
    }

    #[test]
    fn archive_is_the_same_each_time() {
        assert_eq!(pack().unwrap(), pack().unwrap());
    }
}
