//! The formats of files that are imported.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident = $name:literal),+ $(,)?) => {
        /// The format of a file that is imported.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Format { $($(#[$doc])* #[serde(rename = $name)] $format),+ }

        impl Format {
            /// The names of all formats.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Returns the name in the API and on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Format::$format => $name),+ }
            }
        }

        impl FromStr for Format {
            type Err = UnknownFormat;

            fn from_str(name: &str) -> Result<Self, UnknownFormat> {
                match name { $($name => Ok(Format::$format),)+ _ => Err(UnknownFormat) }
            }
        }
    };
}

/// The error of parsing a name that no format has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a supported format")]
pub struct UnknownFormat;

formats! {
    /// An export of this server, as an archive.
    Carrel = "carrel",
    /// One JSON object a line, with the fields of POST /bookmarks.
    Jsonl = "jsonl",
    /// Bookmarks of a browser, linkding, Pinboard and many others; Pocket's list in HTML.
    Netscape = "netscape",
    /// A list of feeds, as feed readers export it.
    Opml = "opml",
    /// Pocket's table, alone or in an archive.
    Pocket = "pocket",
    /// Instapaper's table, in its old and its new form.
    Instapaper = "instapaper",
    /// The table of Readwise Reader, without the entries of feeds.
    Readwise = "readwise",
    /// Matter's table, which has no time of saving.
    Matter = "matter",
    /// mymind's table, of bookmarks and notes.
    Mymind = "mymind",
    /// Raindrop's table, and any other that has a column `url`.
    Raindrop = "raindrop",
    /// Omnivore's archive, with the stored pages and PDFs.
    Omnivore = "omnivore",
    /// Karakeep's JSON, also as it was exported under the name Hoarder.
    Karakeep = "karakeep",
    /// Linkwarden's JSON, with its nested collections.
    Linkwarden = "linkwarden",
    /// A list of objects in JSON: wallabag, Pinboard, Delicious, Readability and others.
    Objects = "objects",
    /// Bookmarks of a browser in its own JSON: Chrome and its derivatives, Firefox's backup.
    Browser = "browser",
    /// OneTab's list, or one URL a line.
    Onetab = "onetab",
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
