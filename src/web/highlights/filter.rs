//! The filter of highlights in an address, for the list and its exports.

use std::collections::HashSet;

use actors::operations::highlights::HighlightFilter;
use values::id::DocumentId;

use crate::web::page::fields::Fields;

/// The colours that a filter offers.
pub const COLORS: [&str; 5] = ["yellow", "green", "blue", "pink", "violet"];

/// Reads the filter of an address. What is malformed filters nothing.
pub fn filter_of(query: &Fields) -> HighlightFilter {
    let colors: HashSet<&str> = query.all("color").collect();
    HighlightFilter {
        colors: COLORS.into_iter().filter(|color| colors.contains(color)).map(str::to_owned).collect(),
        has_note: query.get("note").and_then(|note| note.parse().ok()),
        tag: query.get("tag").map(str::to_owned),
        document: query.get("document").and_then(|id| id.parse::<DocumentId>().ok()),
        is_lost: query.has("lost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_filters_filter_nothing() {
        let filter = filter_of(&Fields::parse(b"color=red&note=maybe&document=x"));

        assert_eq!((filter.colors.len(), filter.has_note, filter.document), (0, None, None));
    }
}
