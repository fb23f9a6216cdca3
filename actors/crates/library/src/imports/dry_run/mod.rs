//! A dry run: what would become of each row, with nothing made.

use entity::kind::ImportedKind;
use parse::bookmarks::{BookmarkDraft, RowContent};
use parse::feed::Outline;
use sea_orm::ConnectionTrait;
use uuid::Uuid;
use web::PageUrl;

use super::names::name_in_file;
use super::take::{Became, Given, MAY_NOT, Taking, Took};
use super::{line, restore};
use errors::Error;
use crate::bookmarks::save;
use actors::operations::feeds;

impl Taking {
    /// What would become of rows. What a row says of those before it in the file is kept in mind.
    ///
    /// # Errors
    /// The database.
    pub(super) async fn look(
        &mut self,
        db: &impl ConnectionTrait,
        lot: Vec<Given>,
    ) -> Result<Vec<Took>, Error> {
        let mut all = Vec::with_capacity(lot.len());
        for Given { row, .. } in lot {
            let (line, source, name) = (row.line(), restore::id_of(&row), name_in_file(&row.content));
            let became = match row.content {
                RowContent::Bookmark(given) => self.would_save(db, given).await?,
                RowContent::Note(note) => self.would_note(db, note).await?,
                RowContent::Feed(outline) => self.would_follow(db, &outline).await?,
                RowContent::Record(value) => restore::would(self, db, value).await?,
                RowContent::Skipped(why) => Became::Passed(why),
            };
            self.knows(source, &became);
            all.push(Took { line, source, name, became, beside: Vec::new() });
        }
        Ok(all)
    }

    async fn would_save(
        &mut self,
        db: &impl ConnectionTrait,
        mut given: BookmarkDraft,
    ) -> Result<Became, Error> {
        if let Some(file) = given.file.take()
            && let Some(sum) = &file.sha256
            && restore::refusal(self.means(), self.import(), &file, self.bytes).await?.is_none()
        {
            return self.would_upload(db, given, sum, file.bytes).await;
        }
        let new = match line::read(given.fields, &self.means().guard) {
            Ok(new) => new,
            Err(why) => return Ok(Became::Passed(why)),
        };
        let key = PageUrl::parse(&new.url)?.key();
        let there = save::with_address(db, self.import().user_id, &key).await?;
        let id = there.as_ref().map_or(Uuid::nil(), |there| there.id.0);
        Ok(Became::of(ImportedKind::Bookmark, id, there.is_none() && self.seen.insert(key)))
    }

    async fn would_upload(
        &mut self,
        db: &impl ConnectionTrait,
        given: BookmarkDraft,
        sum: &str,
        bytes: u64,
    ) -> Result<Became, Error> {
        if let Err(why) = line::read_whole(given.fields) {
            return Ok(Became::Passed(why));
        }
        let there = restore::same_file(self, db, sum).await?;
        let Some(there) = there else {
            self.bytes += bytes;
            return Ok(Became::of(ImportedKind::Bookmark, Uuid::nil(), true));
        };
        let became = Became::of(ImportedKind::Bookmark, there.id.0, false);
        self.takes(&became);
        Ok(became)
    }

    async fn would_follow(&mut self, db: &impl ConnectionTrait, outline: &Outline) -> Result<Became, Error> {
        let Some(url) = feeds::followable(&outline.url, &self.means().guard) else {
            return Ok(Became::Passed(line::refused_address(MAY_NOT, &outline.url)));
        };
        let there = feeds::followed(db, self.import().user_id, &url).await?;
        let new = there.is_none() && self.seen.insert(url.normalized());
        Ok(Became::of(ImportedKind::Feed, Uuid::nil(), new))
    }
}
