//! Filters in the engine's words. Every one of them begins with the tenant.

use qdrant_edge::{
    AnyVariants, Condition, FieldCondition, Filter as EngineFilter, Match, MatchAny, MatchValue,
    ValueVariants,
};
use uuid::Uuid;

use super::schema;
use crate::index::{Filter, Source, Tenant};

/// All of the tenant's passages: the one place where the tenant becomes a condition.
pub fn own(tenant: &Tenant) -> EngineFilter {
    EngineFilter::new_must(is(schema::USER, tenant.0))
}

/// The tenant's passages that are asked for.
pub fn asked(tenant: &Tenant, filter: &Filter) -> EngineFilter {
    let Filter { source, collection, feed, documents } = filter;
    let mut must = Vec::new();
    must.extend(source.map(|source| says(schema::SOURCE, word(source))));
    must.extend(collection.map(|id| is(schema::COLLECTIONS, id)));
    must.extend(feed.map(|id| is(schema::FEED, id)));
    must.extend(documents.as_ref().map(|ids| any(schema::DOCUMENT, ids)));
    narrowed(tenant, must)
}

/// The passages of a document, all versions but the one to keep.
pub fn document(tenant: &Tenant, document: Uuid, keep: Option<i64>) -> EngineFilter {
    let mut filter = narrowed(tenant, vec![is(schema::DOCUMENT, document)]);
    filter.must_not = keep.map(|version| {
        let kept = Match::Value(MatchValue { value: ValueVariants::Integer(version) });
        vec![Condition::Field(FieldCondition::new_match(schema::path(schema::VERSION), kept))]
    });
    filter
}

/// How a half of the library is stored.
pub fn word(source: Source) -> &'static str {
    match source {
        Source::Bookmarks => "bookmarks",
        Source::Feeds => "feeds",
    }
}

fn narrowed(tenant: &Tenant, more: Vec<Condition>) -> EngineFilter {
    let mut filter = own(tenant);
    filter.must.get_or_insert_default().extend(more);
    filter
}

fn is(label: &str, id: Uuid) -> Condition {
    says(label, &id.to_string())
}

fn says(label: &str, word: &str) -> Condition {
    let value = Match::Value(MatchValue { value: ValueVariants::String(word.to_owned()) });
    Condition::Field(FieldCondition::new_match(schema::path(label), value))
}

fn any(label: &str, ids: &[Uuid]) -> Condition {
    let any = AnyVariants::Strings(ids.iter().map(Uuid::to_string).collect());
    Condition::Field(FieldCondition::new_match(schema::path(label), Match::Any(MatchAny { any })))
}
