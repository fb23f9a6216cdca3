//! Reading a document in the web app: what its page shows, the text in parts of HTML, where the user stopped, and its pictures.

mod find_words;
mod page;
mod part;
mod picture;
mod picture_address;
mod position;

pub use find_words::{FindWords, FindWordsResponse};
pub use page::{ReadPage, ReadPageResponse, ReaderBookmark, ReaderEntry, ReaderHeading};
pub use part::{DRAWN_COLORS, PartSelector, ReadPart, ReadPartResponse, drawn_color};
pub use picture::show_picture;
pub use picture_address::{picture_address, picture_hash};
pub use position::{ReadingPosition, SavePosition, SavePositionRequest, SavePositionResponse};
