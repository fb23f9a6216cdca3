//! Saved pages of a lot: those that are new in a few statements, each of the others by itself. A page that came as a file
//! becomes an upload.

use entity::bookmark;
use entity::id::{BookmarkId, CollectionId};
use entity::kind::{ContentType, ImportedKind};
use entity::time::Timestamp;
use parse::archive::{DocumentRecord, FileRecord};
use parse::bookmarks::{Annotation, BookmarkDraft};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use web::PageUrl;

use super::additions::add_to_bookmark;
use super::folders::Folders;
use super::line;
use super::restore::{self, Brought};
use super::row_trace::RowTrace;
use super::take::{Became, Taking, Took};
use errors::Error;
use jobs::Priority;
use crate::bookmarks::bulk::{Saved, save_new};
use crate::bookmarks::save::{self, NewBookmark};

/// A page on its way: where it stands in the file, and the collections that were made for it.
struct Page {
    line: i64,
    new: NewBookmark,
    folders: Vec<Vec<String>>,
    beside: Vec<Became>,
    marked: Vec<Annotation>,
    file: Option<(FileRecord, Brought)>,
}

impl Taking {
    /// Takes saved pages in.
    pub(super) async fn pages(
        &mut self,
        txn: &impl ConnectionTrait,
        saves: Vec<(i64, BookmarkDraft, Option<Brought>)>,
        now: Timestamp,
    ) -> Result<Vec<Took>, Error> {
        let user = self.import().user_id;
        let (mut all, mut pages) = (Vec::with_capacity(saves.len()), Vec::with_capacity(saves.len()));
        for (line, save, file) in saves {
            match self.page(txn, line, save, file).await? {
                Ok(page) => pages.push(page),
                Err(passed) => all.push(passed),
            }
        }
        self.file(txn, &mut pages, now).await?;
        for mut page in pages.extract_if(.., |page| page.file.is_some()) {
            let Some((said, file)) = page.file.take() else { continue };
            let became = self.paper(txn, std::mem::take(&mut page.new), said, file, now).await?;
            self.takes(&became);
            all.push(self.took(txn, page, became, now).await?);
        }
        self.hold(txn, &pages).await?;
        let news = pages.iter_mut().map(|page| std::mem::take(&mut page.new)).collect();
        let saved = save_new(txn, user, news, Priority::Backlog, now).await?;
        for (page, saved) in pages.into_iter().zip(saved) {
            let became = match saved {
                Saved::New(id) => Became::of(ImportedKind::Bookmark, id.0, true),
                Saved::Left(new) => known_page(self, txn, *new, now).await?.0,
            };
            all.push(self.took(txn, page, became, now).await?);
        }
        Ok(all)
    }

    /// A page that was taken, with what was marked in it.
    async fn took(
        &mut self,
        txn: &impl ConnectionTrait,
        page: Page,
        mut became: Became,
        now: Timestamp,
    ) -> Result<Took, Error> {
        let Page { line, mut beside, marked, .. } = page;
        self.record_created(&became);
        if let Some((ImportedKind::Bookmark, id)) = became.thing() {
            let created = self.mark(txn, BookmarkId(id), marked, now).await?;
            if !created.is_empty() && !self.extend(txn, BookmarkId(id)).await? {
                became = became.with_trace(RowTrace::addition(true));
            }
            beside.extend(created);
        }
        Ok(Took { line, source: None, name: None, became, beside })
    }

    /// What a row asks for, or why it is passed over.
    async fn page(
        &self,
        txn: &impl ConnectionTrait,
        line: i64,
        given: BookmarkDraft,
        file: Option<Brought>,
    ) -> Result<Result<Page, Took>, Error> {
        let passed = |became| Took { line, source: None, name: None, became, beside: Vec::new() };
        let (read, file) = match (given.file, file) {
            (Some(said), Some(file @ Brought::Here(..))) => {
                (line::read_whole(given.fields).map_err(Became::Passed), Some((said, file)))
            }
            // What is not taken as a file may be had from its address.
            (_, Some(Brought::Refused(refusal))) => {
                (line::read(given.fields, &self.means().guard).map_err(|_| refusal.outcome()), None)
            }
            _ => (line::read(given.fields, &self.means().guard).map_err(Became::Passed), None),
        };
        let mut new = match read {
            Ok(new) => new,
            Err(became) => return Ok(Err(passed(became))),
        };
        match save::own_collections(txn, self.import().user_id, &new.collections).await {
            Ok(()) => {}
            Err(Error::NotFound(_)) => {
                return Ok(Err(passed(Became::Passed(line::FOREIGN_COLLECTION.to_owned()))));
            }
            Err(error) => return Err(error),
        }
        new.progress = given.progress.unwrap_or(new.progress);
        let folders = std::iter::once(given.folders).chain(given.other_folders).collect();
        Ok(Ok(Page { line, new, folders, beside: Vec::new(), marked: given.annotations, file }))
    }

    /// A page that came as a file. Its address stays with it as that by which the paper is known.
    async fn paper(
        &mut self,
        txn: &impl ConnectionTrait,
        new: NewBookmark,
        said: FileRecord,
        file: Brought,
        now: Timestamp,
    ) -> Result<Became, Error> {
        let title = new.title.clone().unwrap_or_else(|| said.filename.clone());
        let unread = DocumentRecord::unread(ContentType::Pdf, title, new.title.is_some());
        let text = DocumentRecord { canonical_url: Some(new.url.clone()), ..unread };
        restore::uploaded(self, txn, new, said, Some(file), Some(text), now).await
    }

    /// Puts each page into its innermost folders, as collections.
    async fn file(
        &mut self,
        txn: &impl ConnectionTrait,
        pages: &mut [Page],
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut places = self.places(txn, pages, now).await?;
        if !self.stay(txn, &places).await? {
            // Somebody deleted one meanwhile.
            *self.folders() = Folders::default();
            places = self.places(txn, pages, now).await?;
        }
        for (page, place) in pages.iter_mut().zip(places) {
            page.new.collections.extend(place);
        }
        Ok(())
    }

    async fn places(
        &mut self,
        txn: &impl ConnectionTrait,
        pages: &mut [Page],
        now: Timestamp,
    ) -> Result<Vec<Vec<CollectionId>>, Error> {
        let user = self.import().user_id;
        let mut places = Vec::with_capacity(pages.len());
        for page in pages {
            let mut all = Vec::with_capacity(page.folders.len());
            for path in &page.folders {
                let (place, made) = self.folders().find(txn, user, path, now).await?;
                let made = made.into_iter().map(|id| Became::of(ImportedKind::Collection, id.0, true));
                page.beside.extend(made);
                all.extend(place);
            }
            places.push(all);
        }
        Ok(places)
    }

    /// Whether all of these are there, and stay until the transaction ends.
    async fn stay(&self, txn: &impl ConnectionTrait, places: &[Vec<CollectionId>]) -> Result<bool, Error> {
        let places: Vec<_> = places.iter().flatten().copied().collect();
        match save::own_collections(txn, self.import().user_id, &places).await {
            Ok(()) => Ok(true),
            Err(Error::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Holds the bookmarks that are there already, in the order in which everybody does.
    async fn hold(&self, txn: &impl ConnectionTrait, pages: &[Page]) -> Result<(), Error> {
        let mut addresses = Vec::with_capacity(pages.len());
        for page in pages {
            addresses.push(PageUrl::parse(&page.new.url)?.key());
        }
        let there = bookmark::Entity::owned_by(self.import().user_id)
            .filter(bookmark::Column::NormalizedUrl.is_in(addresses));
        save::lock(txn, there).await.map(drop)
    }
}

/// A page whose address may be known; with its row where it was made now.
///
/// # Errors
/// The database.
pub(super) async fn known_page(
    taking: &mut Taking,
    txn: &impl ConnectionTrait,
    new: NewBookmark,
    now: Timestamp,
) -> Result<(Became, Option<bookmark::Model>), Error> {
    let user = taking.import().user_id;
    let key = PageUrl::parse(&new.url)?.key();
    if let Some(there) = save::with_address(txn, user, &key).await? {
        return Ok((add_to_bookmark(taking, txn, there, &new, now).await?, None));
    }
    let (row, created) = save::save_in(txn, user, new.clone(), Priority::Backlog, now).await?;
    if !created {
        // Somebody saved it meanwhile.
        return Ok((add_to_bookmark(taking, txn, row, &new, now).await?, None));
    }
    Ok((Became::of(ImportedKind::Bookmark, row.id.0, true), Some(row)))
}
