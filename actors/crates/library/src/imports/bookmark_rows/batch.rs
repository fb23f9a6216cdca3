//! The saved pages of a batch: new ones are inserted with a few statements, the others one by one. A page that came with a file
//! of the archive becomes an upload.

use std::collections::HashMap;

use jobs::Priority;
use parse::archive::{DocumentRecord, FileRecord};
use parse::bookmarks::{Annotation, BookmarkDraft};
use sea_orm::ConnectionTrait;
use values::id::{BookmarkId, CollectionId};
use values::kind::{ContentType, ImportedKind};
use values::time::Timestamp;

use super::super::reading::archive_file::ArchiveFile;
use super::super::rows::result::{ProcessedRow, RowResult};
use super::super::rows::trace::RowTrace;
use super::super::session::ImportSession;
use super::super::session::folders::FolderCollections;
use super::known_bookmark::{self, KnownBookmark};
use super::save::save_page;
use super::{fields, merge, upload};
use crate::bookmarks::{self, NewBookmark, SaveResult};
use errors::Error;

/// A row with a page, and the file that came with it.
pub struct PageRow {
    /// The line of the file at which the row begins.
    pub line: i64,
    /// The title or URL in the file.
    pub name: Option<String>,
    /// The fields of the page.
    pub draft: BookmarkDraft,
    /// The page as a file of the archive.
    pub file: Option<ArchiveFile>,
}

/// A page that is about to be saved, with the line of its row and the results of the collections that were created for it.
struct PageDraft {
    line: i64,
    name: Option<String>,
    new: NewBookmark,
    folders: Vec<Vec<String>>,
    side_results: Vec<RowResult>,
    annotations: Vec<Annotation>,
    file: Option<(FileRecord, ArchiveFile)>,
}

/// Returns the normalised URLs of the pages that were not saved together.
fn deferred_urls(saved: &[SaveResult]) -> Vec<String> {
    let urls = saved.iter().filter_map(|result| match result {
        SaveResult::Created(_) => None,
        SaveResult::Deferred { normalized_url, .. } => Some(normalized_url.clone()),
    });
    urls.collect()
}

impl ImportSession {
    /// Saves the pages of a batch.
    pub(in crate::imports) async fn save_pages(
        &mut self,
        txn: &impl ConnectionTrait,
        rows: Vec<PageRow>,
        now: Timestamp,
    ) -> Result<Vec<ProcessedRow>, Error> {
        let user = self.import().user_id;
        let (mut processed, mut pages) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for row in rows {
            match self.read_page(txn, row).await? {
                Ok(page) => pages.push(page),
                Err(skipped) => processed.push(skipped),
            }
        }
        // Lock order: the collections of all pages before any bookmark.
        self.file_into_collections(txn, &mut pages, now).await?;
        for mut page in pages.extract_if(.., |page| page.file.is_some()) {
            let Some((record, file)) = page.file.take() else { continue };
            let new = std::mem::take(&mut page.new);
            let result = self.save_page_with_file(txn, new, record, file, now).await?;
            // Two rows with the same bytes become two bookmarks.
            self.claim(&result);
            processed.push(self.complete_page(txn, page, result, now).await?);
        }
        let new = pages.iter_mut().map(|page| std::mem::take(&mut page.new)).collect();
        let saved = bookmarks::save_new_pages(txn, user, new, Priority::Backlog, now).await?;
        let mut known = known_bookmark::load_by_urls(txn, user, &deferred_urls(&saved)).await?;
        for (page, saved) in pages.into_iter().zip(saved) {
            let result = match saved {
                SaveResult::Created(id) => RowResult::of(ImportedKind::Bookmark, id.0, true),
                SaveResult::Deferred { page: new, normalized_url } => {
                    self.save_deferred(txn, &mut known, &page, (*new, &normalized_url), now).await?
                }
            };
            processed.push(self.complete_page(txn, page, result, now).await?);
        }
        Ok(processed)
    }

    /// Saves a page, with its normalised URL, that was not saved together with others. Most rows of a file that is imported again add
    /// nothing to the bookmark that they find in `known`; it must not be changed while it is there.
    async fn save_deferred(
        &mut self,
        txn: &impl ConnectionTrait,
        known: &mut HashMap<String, KnownBookmark>,
        page: &PageDraft,
        (new, normalized_url): (NewBookmark, &str),
        now: Timestamp,
    ) -> Result<RowResult, Error> {
        let complete = known.get(normalized_url).filter(|known| merge::has_all_of(known, &new));
        if let Some(id) = complete.map(|known| known.row.id)
            && page.annotations.is_empty()
        {
            return Ok(RowResult::of(ImportedKind::Bookmark, id.0, false));
        }
        // This row may change it, and a later one may have the same URL.
        known.remove(normalized_url);
        Ok(save_page(self, txn, new, now).await?.0)
    }

    /// Adds its annotations to a page that was saved.
    async fn complete_page(
        &mut self,
        txn: &impl ConnectionTrait,
        page: PageDraft,
        mut result: RowResult,
        now: Timestamp,
    ) -> Result<ProcessedRow, Error> {
        let PageDraft { line, name, mut side_results, annotations, .. } = page;
        self.record_created(&result);
        if let Some((ImportedKind::Bookmark, id)) = result.object() {
            let created = self.add_annotations(txn, BookmarkId(id), annotations, now).await?;
            if !created.is_empty() && !self.record_extension(txn, BookmarkId(id)).await? {
                result = result.with_trace(RowTrace::addition(true));
            }
            side_results.extend(created);
        }
        Ok(ProcessedRow { line, source: None, name, result, side_results })
    }

    /// Reads the fields of a row. The inner error is the row as it is skipped.
    async fn read_page(
        &self,
        txn: &impl ConnectionTrait,
        row: PageRow,
    ) -> Result<Result<PageDraft, ProcessedRow>, Error> {
        let PageRow { line, name, draft, file } = row;
        let skipped =
            |name, result| ProcessedRow { line, source: None, name, result, side_results: Vec::new() };
        let guard = &self.context().guard;
        let (new, file) = match (draft.file, file) {
            (Some(record), Some(file @ ArchiveFile::Stored(..))) => {
                (fields::read_unfetched(draft.fields).map_err(RowResult::Skipped), Some((record, file)))
            }
            // A page whose file is refused may still be fetched from its URL.
            (_, Some(ArchiveFile::Refused(refusal))) => {
                (fields::read_bookmark(draft.fields, guard).map_err(|_| refusal.into_row_result()), None)
            }
            _ => (fields::read_bookmark(draft.fields, guard).map_err(RowResult::Skipped), None),
        };
        let mut new = match new {
            Ok(new) => new,
            Err(result) => return Ok(Err(skipped(name, result))),
        };
        match bookmarks::lock_own_collections(txn, self.import().user_id, &new.collections).await {
            Ok(()) => {}
            Err(Error::NotFound(_)) => {
                return Ok(Err(skipped(name, RowResult::Skipped(fields::FOREIGN_COLLECTION.to_owned()))));
            }
            Err(error) => return Err(error),
        }
        new.progress = draft.progress.unwrap_or(new.progress);
        let folders = std::iter::once(draft.folders).chain(draft.other_folders).collect();
        let annotations = draft.annotations;
        Ok(Ok(PageDraft { line, name, new, folders, side_results: Vec::new(), annotations, file }))
    }

    /// Saves a page that came with a file. The document keeps the page's URL as its canonical URL.
    async fn save_page_with_file(
        &mut self,
        txn: &impl ConnectionTrait,
        new: NewBookmark,
        record: FileRecord,
        file: ArchiveFile,
        now: Timestamp,
    ) -> Result<RowResult, Error> {
        let title = new.title.clone().unwrap_or_else(|| record.filename.clone());
        let unread = DocumentRecord::unread(ContentType::Pdf, title, new.title.is_some());
        let text = DocumentRecord { canonical_url: Some(new.url.clone()), ..unread };
        upload::save_upload(self, txn, new, record, Some(file), Some(text), now).await
    }

    /// Adds to each page the collections of its innermost folders.
    async fn file_into_collections(
        &mut self,
        txn: &impl ConnectionTrait,
        pages: &mut [PageDraft],
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut collections = self.folder_collections(txn, pages, now).await?;
        if !self.lock_collections(txn, &collections).await? {
            // The user deleted one that an earlier batch found.
            *self.folders() = FolderCollections::default();
            collections = self.folder_collections(txn, pages, now).await?;
        }
        for (page, collections) in pages.iter_mut().zip(collections) {
            page.new.collections.extend(collections);
        }
        Ok(())
    }

    /// Returns the collections of each page's folders, and creates those that are missing.
    async fn folder_collections(
        &mut self,
        txn: &impl ConnectionTrait,
        pages: &mut [PageDraft],
        now: Timestamp,
    ) -> Result<Vec<Vec<CollectionId>>, Error> {
        let user = self.import().user_id;
        let mut collections = Vec::with_capacity(pages.len());
        for page in pages {
            let mut of_page = Vec::with_capacity(page.folders.len());
            for path in &page.folders {
                let (innermost, created) = self.folders().get_or_create(txn, user, path, now).await?;
                let created =
                    created.into_iter().map(|id| RowResult::of(ImportedKind::Collection, id.0, true));
                page.side_results.extend(created);
                of_page.extend(innermost);
            }
            collections.push(of_page);
        }
        Ok(collections)
    }

    /// Locks collections against deletion until the transaction ends. Returns whether all of them exist.
    async fn lock_collections(
        &self,
        txn: &impl ConnectionTrait,
        collections: &[Vec<CollectionId>],
    ) -> Result<bool, Error> {
        let ids: Vec<_> = collections.iter().flatten().copied().collect();
        match bookmarks::lock_own_collections(txn, self.import().user_id, &ids).await {
            Ok(()) => Ok(true),
            Err(Error::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
