//! What one search of a user runs on: the index, and the documents that it lacks a change of.

use std::collections::HashMap;

use search::index::{HybridHits, IndexError, IndexQuery, Language, PassageIndex, Tenant};
use uuid::Uuid;

use crate::retrieval::unindexed::UnindexedDocuments;

/// The index as it would be if it lacked no change of the unindexed documents of the user who searches.
#[derive(Clone, Copy)]
pub struct LibraryIndex<'a> {
    index: &'a dyn PassageIndex,
    unindexed: &'a UnindexedDocuments,
}

impl<'a> LibraryIndex<'a> {
    /// Returns the index with these documents of the user who searches.
    pub fn new(index: &'a dyn PassageIndex, unindexed: &'a UnindexedDocuments) -> Self {
        Self { index, unindexed }
    }

    /// Returns the languages of the tenant's passages ([`PassageIndex::languages`]).
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn languages(&self, tenant: &Tenant) -> Result<Vec<Language>, IndexError> {
        let mut languages = self.index.languages(tenant)?;
        self.unindexed.add_languages(&mut languages);
        Ok(languages)
    }

    /// Searches the tenant's passages ([`PassageIndex::search`]). Unindexed documents are found by their words alone, but keep what the
    /// index says of the meaning of a passage.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn search(&self, tenant: &Tenant, query: &IndexQuery) -> Result<HybridHits, IndexError> {
        if self.unindexed.is_empty() {
            return self.index.search(tenant, query);
        }
        let mut hits = self.index.search(tenant, &self.unindexed.widen(query))?;
        self.unindexed.merge_into(&mut hits, query);
        hits.documents.retain(|id, document| !self.unindexed.is_former(*id, *document));
        Ok(hits)
    }

    /// Returns the documents of passages ([`PassageIndex::find_documents`]). A passage of a former state of a document has none.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn find_documents(
        &self,
        tenant: &Tenant,
        passages: &[Uuid],
    ) -> Result<HashMap<Uuid, Uuid>, IndexError> {
        if self.unindexed.is_empty() {
            return self.index.find_documents(tenant, passages);
        }
        let (mut found, mut others) = (HashMap::with_capacity(passages.len()), Vec::new());
        for passage in passages {
            if let Some(document) = self.unindexed.document_of(*passage) {
                found.insert(*passage, document);
            } else {
                others.push(*passage);
            }
        }
        if !others.is_empty() {
            let indexed = self.index.find_documents(tenant, &others)?;
            found.extend(
                indexed.into_iter().filter(|(id, document)| !self.unindexed.is_former(*id, *document)),
            );
        }
        Ok(found)
    }
}
