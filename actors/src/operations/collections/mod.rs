//! Collections: nested groups of bookmarks (contract.md, section 6).

mod change;
mod contents;
mod create;
mod find;
mod remove;
mod show;
mod top_level;
mod tree;
mod view;

pub use change::ChangeCollection;
pub use contents::{PutIntoCollection, TakeFromCollection};
pub use create::CreateCollection;
pub use find::{FindCollections, FindCollectionsResponse};
pub use remove::{DeleteCollection, DeleteCollectionWithUndo};
pub use show::{ListCollections, ShowCollection};
pub use top_level::{ListTopCollections, ListTopCollectionsResponse};
pub use tree::{CollectionNode, ShowCollectionTree};
pub use view::{CollectionResponse, CollectionView};

/// The types of the fields of collections (contract.md, section 11: v1).
mod field_types {
    use validation::{DisplayName, Text};

    /// The field `name`: 1 to 300 characters, without control characters.
    pub type CollectionName = DisplayName<1, 300>;
    /// The field `description`, which may be empty.
    pub type CollectionDescription = Text<100_000>;
}
