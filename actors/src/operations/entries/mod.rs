//! Entries of followed feeds: listing, reading marks and stars (contract.md, section 6).

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

/// When an entry was published; where its feed does not say, when it came.
fn published() -> SimpleExpr {
    Expr::col(entry::Column::PublishedAt).if_null(Expr::col(entry::Column::CreatedAt))
}
