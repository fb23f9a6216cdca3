//! Entries of followed feeds: lists, read marks, stars and transcripts (contract.md, section 6).

mod list;
mod mark;
mod transcribe;
mod view;

pub use list::{ListEntries, ShowEntry};
pub use mark::{ChangeEntry, MarkEntries};
pub use transcribe::TranscribeEntry;
pub use view::{EntryResponse, EntryView};

use entity::entry;
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};

/// Returns the expression for the time at which an entry was published, or arrived if its feed names no time.
fn publication_time() -> SimpleExpr {
    Expr::col(entry::Column::PublishedAt).if_null(Expr::col(entry::Column::CreatedAt))
}
