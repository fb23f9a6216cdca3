//! Which program wrote a file: told by its bytes, whatever it is called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident = $name:literal),+ $(,)?) => {
        /// A kind of file that is imported.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Format { $($(#[$doc])* #[serde(rename = $name)] $format),+ }

        impl Format {
            /// Every name.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name on the wire and on the command line.
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

/// A word that names no format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no format that is imported")]
pub struct UnknownFormat;

formats! {
    /// An export of this service.
    Carrel = "carrel",
    /// One JSON object a line, with the fields of POST /bookmarks.
    Jsonl = "jsonl",
    /// Bookmarks of a browser, linkding, Pinboard and many others; Pocket's list in HTML.
    Netscape = "netscape",
    /// Feeds.
    Opml = "opml",
    /// Pocket's table.
    Pocket = "pocket",
    /// Instapaper's table.
    Instapaper = "instapaper",
    /// Readwise Reader's table.
    Readwise = "readwise",
    /// Matter's table.
    Matter = "matter",
    /// mymind's table.
    Mymind = "mymind",
    /// Raindrop's table, and any other that has a column `url`.
    Raindrop = "raindrop",
    /// Omnivore's archive.
    Omnivore = "omnivore",
    /// Karakeep's JSON.
    Karakeep = "karakeep",
    /// Linkwarden's JSON.
    Linkwarden = "linkwarden",
    /// A list of objects in JSON: wallabag, Pinboard, Delicious, Readability and others.
    Objects = "objects",
    /// Bookmarks of a browser in its own JSON: Chrome and its kin, Firefox's backup.
    Browser = "browser",
    /// OneTab's list, or addresses a line.
    Onetab = "onetab",
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
