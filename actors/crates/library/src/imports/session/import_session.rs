//! An import in progress: its row, and what its rows so far became.

use std::collections::{HashMap, HashSet};

use entity::import;
use uuid::Uuid;
use values::kind::ImportedKind;

use super::super::context::ImportContext;
use super::super::rows::result::RowResult;
use super::extensions::Extensions;
use super::folders::FolderCollections;

/// An import in progress. After an error it must be dropped, because its maps may name objects that the
/// rollback of the transaction removed.
pub struct ImportSession {
    context: ImportContext,
    /// The import's row, which is written after each batch.
    pub(in crate::imports) import: import::Model,
    folders: FolderCollections,
    /// What lines of an export became, by the ids that their objects had.
    pub(super) imported: HashMap<Uuid, (ImportedKind, Uuid)>,
    /// The objects that lines of this import became.
    pub(super) claimed: HashSet<(ImportedKind, Uuid)>,
    /// The objects that the current batch created. Their rows are not in the database yet.
    created_now: HashSet<(ImportedKind, Uuid)>,
    /// Bookmarks to which this batch adds something.
    pub(super) extensions: Extensions,
    /// Keys of the pages, feeds and notes that a dry run has seen.
    seen: HashSet<String>,
    /// Bytes of the files that a dry run would store.
    pub(in crate::imports) previewed_bytes: u64,
}

impl ImportSession {
    /// Continues an import where its row says.
    pub fn new(context: ImportContext, import: import::Model) -> Self {
        Self {
            context,
            import,
            folders: FolderCollections::default(),
            imported: HashMap::new(),
            claimed: HashSet::new(),
            created_now: HashSet::new(),
            extensions: Extensions::default(),
            seen: HashSet::new(),
            previewed_bytes: 0,
        }
    }

    /// Returns the import's row as the last batch left it.
    pub fn import(&self) -> &import::Model {
        &self.import
    }

    /// Returns the components that the import works with.
    pub(in crate::imports) fn context(&self) -> &ImportContext {
        &self.context
    }

    /// Returns the collections that were found or created for folders so far.
    pub(in crate::imports) fn folders(&mut self) -> &mut FolderCollections {
        &mut self.folders
    }

    /// Forgets what the batch before created.
    pub(in crate::imports) fn begin_batch(&mut self) {
        self.created_now.clear();
    }

    /// Records what a line of an export became, by the id that its object had. A line without an id claims nothing.
    pub(in crate::imports) fn record_source(&mut self, source: Option<Uuid>, result: &RowResult) {
        if let (Some(source), Some(object)) = (source, result.object()) {
            self.imported.insert(source, object);
            self.claimed.insert(object);
        }
    }

    /// Marks the object of a row as claimed, so that an identical later row creates a new one.
    pub(in crate::imports) fn claim(&mut self, result: &RowResult) {
        self.claimed.extend(result.object());
    }

    /// Records what this batch created: what it adds to that later does not count as an addition to an existing object.
    pub(in crate::imports) fn record_created(&mut self, result: &RowResult) {
        if let RowResult::Created(kind, id, _) = result {
            self.created_now.insert((*kind, *id));
        }
    }

    /// Returns whether this batch created that object.
    pub(in crate::imports) fn is_created_now(&self, kind: ImportedKind, id: Uuid) -> bool {
        self.created_now.contains(&(kind, id))
    }

    /// Records a key that a dry run meets. Returns whether it is the first time.
    pub(in crate::imports) fn record_seen(&mut self, key: String) -> bool {
        self.seen.insert(key)
    }
}
