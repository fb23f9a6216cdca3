//! Shows all collections of the user as a tree.

use std::collections::{HashMap, HashSet};

use entity::collection;
use schemars::JsonSchema;
use sea_orm::{QueryOrder, QuerySelect};
use serde::Serialize;
use values::id::CollectionId;
use values::scope::Scope;

use super::view::{self, CollectionView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::NoFields;

/// Maximum number of collections of a tree; the newest ones are left out.
const MAX_TREE_COLLECTIONS: u64 = 2000;
/// Maximum depth at which the tree is shown; deeper collections are shown at this depth.
const MAX_TREE_DEPTH: usize = 32;

/// Shows all collections in the order of a tree.
#[derive(Debug)]
pub struct ShowCollectionTree;

impl FromRequest for ShowCollectionTree {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The collections: each is followed by those nested in it, and collections beside each other are sorted by name.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollectionTreeResponse {
    /// The collections, at most 2,000.
    pub collections: Vec<CollectionNode>,
}

/// A collection in the tree.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollectionNode {
    /// The collection.
    pub collection: CollectionView,
    /// The number of collections in which it is nested, at most 32.
    pub depth: usize,
}

impl Operation for ShowCollectionTree {
    type Reply = CollectionTreeResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadCollections];

    fn count(reply: &CollectionTreeResponse) -> Option<usize> {
        Some(reply.collections.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CollectionTreeResponse, Error> {
        let all = collection::Entity::owned_by(caller.user)
            .order_by_asc(collection::Column::Id)
            .limit(MAX_TREE_COLLECTIONS);
        let views = view::select_views(all).all(ctx.core.db.read()).await?;
        Ok(CollectionTreeResponse { collections: in_tree_order(views) })
    }
}

/// Sorts collections as a tree. One whose parent is missing, or that is nested in itself, is at the top level.
fn in_tree_order(views: Vec<CollectionView>) -> Vec<CollectionNode> {
    let ids: HashSet<CollectionId> = views.iter().map(|view| view.collection_id).collect();
    let mut children: HashMap<Option<CollectionId>, Vec<CollectionView>> = HashMap::new();
    for view in views {
        let parent = view.parent_id.filter(|parent| ids.contains(parent));
        children.entry(parent).or_default().push(view);
    }
    // The last one is taken first.
    let sort = |siblings: &mut Vec<CollectionView>| {
        siblings.sort_by_cached_key(|view| (view.name.to_lowercase(), view.collection_id));
        siblings.reverse();
    };
    let mut sorted = Vec::with_capacity(ids.len());
    let mut open: Vec<(CollectionView, usize)> = Vec::new();
    loop {
        let Some((collection, depth)) = open.pop() else {
            // The top level, and after it what is only nested in itself.
            let next =
                if children.contains_key(&None) { None } else { children.keys().min().copied().flatten() };
            let Some(mut siblings) = children.remove(&next) else { return sorted };
            sort(&mut siblings);
            open.extend(siblings.into_iter().map(|view| (view, 0)));
            continue;
        };
        if let Some(mut nested) = children.remove(&Some(collection.collection_id)) {
            sort(&mut nested);
            let depth = depth.saturating_add(1).min(MAX_TREE_DEPTH);
            open.extend(nested.into_iter().map(|view| (view, depth)));
        }
        sorted.push(CollectionNode { collection, depth });
    }
}

#[cfg(test)]
mod tests {
    use values::time::Timestamp;

    use super::*;

    fn view(number: u128, name: &str, parent: Option<u128>) -> CollectionView {
        let id = |number| CollectionId(uuid::Uuid::from_u128(number));
        CollectionView {
            collection_id: id(number),
            name: name.to_owned(),
            description: None,
            parent_id: parent.map(id),
            bookmark_count: 0,
            updated_at: Timestamp::from_millis(0),
        }
    }

    fn sorted(views: Vec<CollectionView>) -> Vec<(String, usize)> {
        in_tree_order(views).into_iter().map(|node| (node.collection.name, node.depth)).collect()
    }

    #[test]
    fn nested_collections_follow_their_parents_by_name() {
        let views = vec![
            view(1, "waders", None),
            view(2, "Gulls", None),
            view(3, "herons", Some(1)),
            view(4, "Bitterns", Some(1)),
            view(5, "grey", Some(3)),
        ];

        let expected = [("Gulls", 0), ("waders", 0), ("Bitterns", 1), ("herons", 1), ("grey", 2)];
        assert_eq!(sorted(views), expected.map(|(name, depth)| (name.to_owned(), depth)));
    }

    #[test]
    fn collections_of_a_cycle_are_shown_once() {
        let views = vec![view(1, "a", Some(2)), view(2, "b", Some(1)), view(3, "c", Some(9))];

        let shown = sorted(views);

        assert_eq!(shown.first(), Some(&("c".to_owned(), 0)));
        assert_eq!(shown.len(), 3);
    }
}
