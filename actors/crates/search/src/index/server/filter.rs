//! Filters in the messages of the server. Every one of them begins with the tenant.

use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::{Condition, FieldCondition, Filter as ServerFilter, Match, RepeatedStrings};
use uuid::Uuid;

use crate::index::label::Label;
use crate::index::language::Language;
use crate::index::passage::Tenant;
use crate::index::query::{DocumentSet, Filter};
use crate::index::schema;

/// Matches all of the tenant's passages: the one place where the tenant becomes a condition.
pub fn owned_by(tenant: &Tenant) -> ServerFilter {
    ServerFilter::must([id_equals(schema::USER, tenant.0)])
}

/// Matches the tenant's passages that pass a filter.
pub fn matching(tenant: &Tenant, filter: &Filter) -> ServerFilter {
    let Filter { source, feed, content_type, documents, or_documents } = filter;
    let labels = [source.map(Label::Source), feed.map(Label::Feed), content_type.map(Label::ContentType)];
    let mut conditions: Vec<Condition> = labels.into_iter().flatten().map(has_label).collect();
    if !conditions.is_empty() && !or_documents.is_empty() {
        let has_labels = ServerFilter::must(std::mem::take(&mut conditions)).into();
        let either = [has_labels, id_in(schema::DOCUMENT, or_documents)];
        conditions.push(ServerFilter::should(either).into());
    }
    let except = match documents {
        DocumentSet::All => None,
        DocumentSet::Only(ids) => {
            conditions.push(id_in(schema::DOCUMENT, ids));
            None
        }
        DocumentSet::Except(ids) => (!ids.is_empty()).then(|| id_in(schema::DOCUMENT, ids)),
    };
    ServerFilter { must_not: except.into_iter().collect(), ..owned_with(tenant, conditions) }
}

/// Matches the passages of a document, except those of the version to keep.
pub fn of_document(tenant: &Tenant, document: Uuid, keep: Option<i64>) -> ServerFilter {
    let mut filter = owned_with(tenant, vec![id_equals(schema::DOCUMENT, document)]);
    filter.must_not = keep
        .map(|version| field_matches(schema::VERSION, MatchValue::Integer(version)))
        .into_iter()
        .collect();
    filter
}

/// Matches the passages of a document that were analysed in a language.
pub fn of_document_in_language(tenant: &Tenant, document: Uuid, language: Language) -> ServerFilter {
    let of_document = id_equals(schema::DOCUMENT, document);
    owned_with(tenant, vec![of_document, has_label(Label::Language(language))])
}

fn owned_with(tenant: &Tenant, conditions: Vec<Condition>) -> ServerFilter {
    let mut filter = owned_by(tenant);
    filter.must.extend(conditions);
    filter
}

/// Matches passages that have this label, whatever others they have.
fn has_label(label: Label) -> Condition {
    field_matches(schema::LABELS, MatchValue::Keyword(label.value()))
}

fn id_equals(field: &str, id: Uuid) -> Condition {
    field_matches(field, MatchValue::Keyword(id.to_string()))
}

/// Matches nothing for an empty list, as the embedded engine does.
fn id_in(field: &str, ids: &[Uuid]) -> Condition {
    let strings = ids.iter().map(Uuid::to_string).collect();
    field_matches(field, MatchValue::Keywords(RepeatedStrings { strings }))
}

fn field_matches(field: &str, value: MatchValue) -> Condition {
    let matched = Match { match_value: Some(value) };
    FieldCondition { key: field.to_owned(), r#match: Some(matched), ..FieldCondition::default() }.into()
}

#[cfg(test)]
mod tests {
    use qdrant_client::qdrant::condition::ConditionOneOf;

    use super::*;
    use crate::index::passage::Source;

    #[test]
    fn every_filter_begins_with_the_tenant() {
        let (tenant, document) = (Tenant::of(Uuid::from_u128(7)), Uuid::from_u128(8));
        let narrow = Filter {
            source: Some(Source::Feeds),
            documents: DocumentSet::Only(Vec::new()),
            ..Filter::default()
        };
        let filters = [
            owned_by(&tenant),
            matching(&tenant, &Filter::default()),
            matching(&tenant, &narrow),
            of_document(&tenant, document, Some(3)),
            of_document_in_language(&tenant, document, Language::Thai),
        ];

        for filter in filters {
            let Some(ConditionOneOf::Field(first)) = filter.must[0].condition_one_of.clone() else {
                panic!("no condition on a field: {filter:?}");
            };
            assert_eq!(first.key, schema::USER);
            let user = MatchValue::Keyword(Uuid::from_u128(7).to_string());
            assert_eq!(first.r#match.unwrap().match_value, Some(user));
            assert!(filter.should.is_empty() && filter.min_should.is_none());
        }
    }
}
