//! What Carrel must send, beyond what a server requires: every filter begins with the user, so that no request touches the passages of
//! another; the words of a user are counted among the passages of the user; and a write has been applied when it is answered.

use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::{Condition, Filter, QueryPoints};
use tonic::Status;

use super::collection::Collection;
use super::convert::invalid;

/// Payload field of the user.
const USER: &str = "user";

/// Refuses a write that does not wait until it is applied.
pub fn require_wait(wait: Option<bool>) -> Result<(), Status> {
    if wait == Some(true) { Ok(()) } else { Err(invalid("a write must wait until it is applied")) }
}

/// Refuses a filter that does not begin with the user, or names a field without an index, as a server in strict mode does.
pub fn require_user(collection: &Collection, filter: Option<&Filter>) -> Result<(), Status> {
    let filter = filter.ok_or_else(|| invalid("a request must have a filter with the user"))?;
    if user_of(filter).is_none() {
        return Err(invalid("a filter must begin with the user"));
    }
    require_indexes(collection, filter)
}

/// Refuses a query that does not confine itself to a user, or counts words among other passages than the user's.
pub fn require_user_of_query(collection: &Collection, query: &QueryPoints) -> Result<(), Status> {
    require_user(collection, query.filter.as_ref())?;
    let name = query.using.as_deref().ok_or_else(|| invalid("a query must name its vector"))?;
    collection.require_vector(name)?;
    let corpus = query.params.as_ref().and_then(|params| params.idf.as_ref()?.corpus.as_ref());
    let is_of_user = |corpus: &Filter| {
        let is_whole = corpus.must.len() == 1 && corpus.must_not.is_empty() && corpus.should.is_empty();
        is_whole && user_of(corpus) == query.filter.as_ref().and_then(user_of)
    };
    if name.starts_with("dense_") || corpus.is_some_and(is_of_user) {
        Ok(())
    } else {
        Err(invalid("words must be counted among all passages of the user"))
    }
}

/// Returns the user with whom a filter begins.
fn user_of(filter: &Filter) -> Option<&str> {
    let ConditionOneOf::Field(field) = filter.must.first()?.condition_one_of.as_ref()? else { return None };
    let MatchValue::Keyword(user) = field.r#match.as_ref()?.match_value.as_ref()? else { return None };
    (field.key == USER).then_some(user)
}

fn require_indexes(collection: &Collection, filter: &Filter) -> Result<(), Status> {
    for condition in filter.must.iter().chain(&filter.must_not).chain(&filter.should) {
        let Condition { condition_one_of: Some(kind) } = condition else { continue };
        if let ConditionOneOf::Field(field) = kind
            && !collection.has_index(&field.key)
        {
            let field = &field.key;
            return Err(invalid(&format!("Bad request: Index required but not found for \"{field}\"")));
        } else if let ConditionOneOf::Filter(inner) = kind {
            require_indexes(collection, inner)?;
        }
    }
    Ok(())
}
