//! Collections: nested groups of bookmarks (contract.md, section 6).

mod change;
mod contents;
mod create;
mod remove;
mod show;
mod view;

pub use change::ChangeCollection;
pub use contents::{PutIntoCollection, TakeFromCollection};
pub use create::CreateCollection;
pub use remove::DeleteCollection;
pub use show::{ListCollections, ShowCollection};
pub use view::{CollectionResponse, CollectionView};

/// What fields of collections may hold (contract.md, section 11: v1).
mod kinds {
    use validation::Kind;

    /// A name.
    pub const NAME: Kind = Kind::Words { min: 1, max: 300 };
    /// A description.
    pub const DESCRIPTION: Kind = Kind::Text { max: 100_000 };
}
