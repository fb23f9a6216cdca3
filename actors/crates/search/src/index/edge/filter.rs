//! Filters in the types of the engine. Every one of them begins with the tenant.

use qdrant_edge::{
    AnyVariants, Condition, FieldCondition, Filter as EngineFilter, Match, MatchAny, MatchValue,
    ValueVariants,
};
use uuid::Uuid;

use super::schema;
use crate::index::passage::{Source, Tenant};
use crate::index::query::Filter;

/// Matches all of the tenant's passages: the one place where the tenant becomes a condition.
pub fn owned_by(tenant: &Tenant) -> EngineFilter {
    EngineFilter::new_must(id_equals(schema::USER, tenant.0))
}

/// Matches the tenant's passages that pass a filter.
pub fn matching(tenant: &Tenant, filter: &Filter) -> EngineFilter {
    let Filter { source, collection, feed, documents } = filter;
    let mut conditions = Vec::new();
    conditions.extend(source.map(|source| word_equals(schema::SOURCE, source_word(source))));
    conditions.extend(collection.map(|id| id_equals(schema::COLLECTIONS, id)));
    conditions.extend(feed.map(|id| id_equals(schema::FEED, id)));
    conditions.extend(documents.as_ref().map(|ids| id_in(schema::DOCUMENT, ids)));
    owned_with(tenant, conditions)
}

/// Matches the passages of a document, except those of the version to keep.
pub fn of_document(tenant: &Tenant, document: Uuid, keep: Option<i64>) -> EngineFilter {
    let mut filter = owned_with(tenant, vec![id_equals(schema::DOCUMENT, document)]);
    filter.must_not = keep.map(|version| {
        let kept = Match::Value(MatchValue { value: ValueVariants::Integer(version) });
        vec![Condition::Field(FieldCondition::new_match(schema::field_path(schema::VERSION), kept))]
    });
    filter
}

/// Returns the word by which a half of the library is stored.
pub fn source_word(source: Source) -> &'static str {
    match source {
        Source::Bookmarks => "bookmarks",
        Source::Feeds => "feeds",
    }
}

fn owned_with(tenant: &Tenant, conditions: Vec<Condition>) -> EngineFilter {
    let mut filter = owned_by(tenant);
    filter.must.get_or_insert_default().extend(conditions);
    filter
}

fn id_equals(label: &str, id: Uuid) -> Condition {
    word_equals(label, &id.to_string())
}

fn word_equals(label: &str, word: &str) -> Condition {
    let value = Match::Value(MatchValue { value: ValueVariants::String(word.to_owned()) });
    Condition::Field(FieldCondition::new_match(schema::field_path(label), value))
}

fn id_in(label: &str, ids: &[Uuid]) -> Condition {
    let any = AnyVariants::Strings(ids.iter().map(Uuid::to_string).collect());
    Condition::Field(FieldCondition::new_match(schema::field_path(label), Match::Any(MatchAny { any })))
}
