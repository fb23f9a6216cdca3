//! What is wrong with a query, in the language of the page.

use library::query::{QueryFault, QueryFaultKind};

use crate::web::locale::Locale;
use crate::web::strings::MessageValue;

/// Returns what is wrong with a query, and where.
pub fn query_fault_text(fault: QueryFault, locale: &Locale) -> String {
    let key = match fault.kind {
        QueryFaultKind::OpenQuote => "library-query-open-quote",
        QueryFaultKind::EmptyValue => "library-query-empty-value",
        QueryFaultKind::UnknownState => "library-query-state",
        QueryFaultKind::UnknownType => "library-query-type",
        QueryFaultKind::InvalidDate => "library-query-date",
        QueryFaultKind::InvalidMinutes => "library-query-minutes",
    };
    let place = i64::try_from(fault.start.saturating_add(1)).unwrap_or(i64::MAX);
    locale.t_with(key, &[("place", MessageValue::Number(place))])
}
