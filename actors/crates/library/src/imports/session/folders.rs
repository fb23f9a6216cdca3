//! Folders of other programs as collections: one for each name within its parent folder, created where it does not exist.

use std::collections::HashMap;

use entity::collection::{self, Column, Entity};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, Select};
use values::id::{CollectionId, UserId};
use values::time::Timestamp;

use super::super::limits::MAX_NAME_CHARS;
use errors::Error;

/// The collections that were found or created so far, by parent and name.
#[derive(Debug, Default)]
pub struct FolderCollections(HashMap<(Option<CollectionId>, String), CollectionId>);

impl FolderCollections {
    /// Returns the collection of the innermost folder of a path, and the collections that were created for the path. An
    /// empty path has no collection.
    pub async fn get_or_create(
        &mut self,
        txn: &impl ConnectionTrait,
        user: UserId,
        path: &[String],
        now: Timestamp,
    ) -> Result<(Option<CollectionId>, Vec<CollectionId>), Error> {
        let (mut parent, mut created) = (None, Vec::new());
        for name in path {
            let name = text::cut(&text::without_controls(name), MAX_NAME_CHARS);
            if name.is_empty() {
                continue;
            }
            let (id, is_new) = self.get_or_create_one(txn, user, parent, name, now).await?;
            created.extend(is_new.then_some(id));
            parent = Some(id);
        }
        Ok((parent, created))
    }

    /// Returns the collection of this name within another, and whether it was created.
    async fn get_or_create_one(
        &mut self,
        txn: &impl ConnectionTrait,
        user: UserId,
        parent: Option<CollectionId>,
        name: String,
        now: Timestamp,
    ) -> Result<(CollectionId, bool), Error> {
        let key = (parent, name);
        if let Some(id) = self.0.get(&key) {
            return Ok((*id, false));
        }
        // Names may repeat. The oldest one is taken, so that every import of the same folders chooses the same collection.
        if let Some(existing) = collections_named(user, parent, &key.1).one(txn).await? {
            self.0.insert(key, existing.id);
            return Ok((existing.id, false));
        }
        let id = create_collection(txn, user, parent, key.1.clone(), None, now).await?;
        self.0.insert(key, id);
        Ok((id, true))
    }
}

/// Selects the collections of this name within another, or within none; the oldest first.
pub fn collections_named(user: UserId, parent: Option<CollectionId>, name: &str) -> Select<Entity> {
    let same = Entity::owned_by(user).filter(Column::Name.eq(name));
    let same = match parent {
        Some(parent) => same.filter(Column::ParentId.eq(parent)),
        None => same.filter(Column::ParentId.is_null()),
    };
    same.order_by_asc(Column::Id)
}

/// Creates a collection in the user's library, within `parent` if there is one.
pub async fn create_collection(
    txn: &impl ConnectionTrait,
    user: UserId,
    parent: Option<CollectionId>,
    name: String,
    description: Option<String>,
    now: Timestamp,
) -> Result<CollectionId, Error> {
    let row = collection::Model {
        id: CollectionId::new(now),
        user_id: user,
        name,
        description,
        parent_id: parent,
        created_at: now,
        updated_at: now,
    };
    let id = row.id;
    Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    Ok(id)
}
