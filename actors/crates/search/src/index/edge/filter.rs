//! Filters in the types of the engine. Every one of them begins with the tenant.

use qdrant_edge::{
    AnyVariants, Condition, FieldCondition, Filter as EngineFilter, Match, MatchAny, MatchValue,
    ValueVariants,
};
use uuid::Uuid;

use super::schema;
use crate::index::label::Label;
use crate::index::language::Language;
use crate::index::passage::Tenant;
use crate::index::query::{DocumentSet, Filter};

/// Matches all of the tenant's passages: the one place where the tenant becomes a condition.
pub fn owned_by(tenant: &Tenant) -> EngineFilter {
    EngineFilter::new_must(id_equals(schema::USER, tenant.0))
}

/// Matches no passage: no user has the greatest id.
pub fn of_nobody() -> EngineFilter {
    owned_by(&Tenant(Uuid::max()))
}

/// Matches the tenant's passages that pass a filter.
pub fn matching(tenant: &Tenant, filter: &Filter) -> EngineFilter {
    let Filter { source, feed, content_type, documents, or_documents } = filter;
    let labels = [source.map(Label::Source), feed.map(Label::Feed), content_type.map(Label::ContentType)];
    let mut conditions: Vec<Condition> = labels.into_iter().flatten().map(has_label).collect();
    if !conditions.is_empty() && !or_documents.is_empty() {
        let has_labels = Condition::Filter(EngineFilter {
            must: Some(std::mem::take(&mut conditions)),
            ..EngineFilter::new()
        });
        let any = [has_labels, id_in(schema::DOCUMENT, or_documents)];
        let either = EngineFilter { should: Some(any.into()), ..EngineFilter::new() };
        conditions.push(Condition::Filter(either));
    }
    let except = match documents {
        DocumentSet::All => None,
        DocumentSet::Only(ids) => {
            conditions.push(id_in(schema::DOCUMENT, ids));
            None
        }
        DocumentSet::Except(ids) => (!ids.is_empty()).then(|| vec![id_in(schema::DOCUMENT, ids)]),
    };
    EngineFilter { must_not: except, ..owned_with(tenant, conditions) }
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

/// Matches the tenant's passages that were analysed in a language.
pub fn in_language(tenant: &Tenant, language: Language) -> EngineFilter {
    owned_with(tenant, vec![has_label(Label::Language(language))])
}

/// Matches the passages of a document that were analysed in a language.
pub fn of_document_in_language(tenant: &Tenant, document: Uuid, language: Language) -> EngineFilter {
    let of_document = id_equals(schema::DOCUMENT, document);
    owned_with(tenant, vec![of_document, has_label(Label::Language(language))])
}

fn owned_with(tenant: &Tenant, conditions: Vec<Condition>) -> EngineFilter {
    let mut filter = owned_by(tenant);
    filter.must.get_or_insert_default().extend(conditions);
    filter
}

/// Matches passages that have this label, whatever others they have.
fn has_label(label: Label) -> Condition {
    text_equals(schema::LABELS, label.value())
}

fn id_equals(field: &str, id: Uuid) -> Condition {
    text_equals(field, id.to_string())
}

fn text_equals(field: &str, text: String) -> Condition {
    let value = Match::Value(MatchValue { value: ValueVariants::String(text) });
    Condition::Field(FieldCondition::new_match(schema::field_path(field), value))
}

fn id_in(field: &str, ids: &[Uuid]) -> Condition {
    let any = AnyVariants::Strings(ids.iter().map(Uuid::to_string).collect());
    Condition::Field(FieldCondition::new_match(schema::field_path(field), Match::Any(MatchAny { any })))
}
