//! Filters for the engine.

use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::{Condition, FieldCondition, Filter};
use qdrant_edge::{
    AnyVariants, Condition as EngineCondition, FieldCondition as EngineFieldCondition,
    Filter as EngineFilter, Match, MatchAny, ValueVariants,
};
use tonic::Status;

use super::invalid;
use super::value::field_path;

/// Converts a filter. Conditions that Carrel does not use are refused.
pub fn filter_to_engine(filter: Filter) -> Result<EngineFilter, Status> {
    if filter.min_should.is_some() {
        return Err(invalid("a filter with min_should"));
    }
    Ok(EngineFilter {
        should: conditions(filter.should)?,
        min_should: None,
        must: conditions(filter.must)?,
        must_not: conditions(filter.must_not)?,
    })
}

/// Converts the conditions of a clause; `None` for an empty clause, which restricts nothing.
fn conditions(clause: Vec<Condition>) -> Result<Option<Vec<EngineCondition>>, Status> {
    let converted: Result<Vec<_>, Status> = clause.into_iter().map(condition).collect();
    converted.map(|conditions| (!conditions.is_empty()).then_some(conditions))
}

fn condition(condition: Condition) -> Result<EngineCondition, Status> {
    if let Some(ConditionOneOf::Filter(filter)) = condition.condition_one_of {
        Ok(EngineCondition::Filter(filter_to_engine(filter)?))
    } else if let Some(ConditionOneOf::Field(field)) = condition.condition_one_of {
        field_condition(field)
    } else {
        Err(invalid("a condition of another kind"))
    }
}

fn field_condition(field: FieldCondition) -> Result<EngineCondition, Status> {
    let value = field.r#match.and_then(|matched| matched.match_value);
    let matched = if let Some(MatchValue::Keyword(keyword)) = value {
        Match::new_value(ValueVariants::String(keyword))
    } else if let Some(MatchValue::Integer(number)) = value {
        Match::new_value(ValueVariants::Integer(number))
    } else if let Some(MatchValue::Keywords(keywords)) = value {
        Match::Any(MatchAny { any: AnyVariants::Strings(keywords.strings.into_iter().collect()) })
    } else {
        return Err(invalid("a match of another kind"));
    };
    Ok(EngineCondition::Field(EngineFieldCondition::new_match(field_path(&field.key), matched)))
}
