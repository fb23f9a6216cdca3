//! The facets of a list as links that change its address.

use actors::operations::bookmarks::{CountFacetsResponse, Facet};
use values::kind::ContentType;

use super::rows::type_key;
use super::view_filter::ViewFilter;
use crate::web::filters::visible_text;
use crate::web::locale::Locale;
use crate::web::strings::MessageValue;

/// A facet: a link that adds a filter, or removes it.
#[derive(Clone, Debug)]
pub struct FacetLink {
    /// What the list is filtered by.
    pub label: String,
    /// The address with the filter, or without it if it is on.
    pub href: String,
    /// How many bookmarks are left, such as `31` or `1,000+`; empty if that is not known.
    pub count: String,
    /// Whether the list has the filter.
    pub is_on: bool,
}

/// Facets of one kind.
#[derive(Clone, Debug)]
pub struct FacetGroup {
    /// The id of its heading.
    pub id: &'static str,
    /// The key of its heading.
    pub title: &'static str,
    /// The facets, at least one.
    pub links: Vec<FacetLink>,
}

/// A filter that is on, as a chip that removes it.
#[derive(Clone, Debug)]
pub struct FilterChip {
    /// What the list is filtered by.
    pub label: String,
    /// The address without the filter.
    pub href: String,
}

/// Returns the facets of a list.
pub fn facet_groups(filter: &ViewFilter, counts: &CountFacetsResponse, locale: &Locale) -> Vec<FacetGroup> {
    let groups = [
        ("facet-types", "library-facet-types", "type", &counts.types),
        ("facet-states", "library-facet-states", "state", &counts.states),
        ("facet-tags", "library-facet-tags", "tag", &counts.tags),
        ("facet-sites", "library-facet-sites", "site", &counts.sites),
    ];
    let groups = groups.into_iter().map(|(id, title, name, facets)| FacetGroup {
        id,
        title,
        links: facets.iter().map(|facet| link(filter, name, facet, locale)).collect(),
    });
    groups.filter(|group| !group.links.is_empty()).collect()
}

/// Returns the filters of a list that are on, without the query in its box.
pub fn filter_chips(filter: &ViewFilter, locale: &Locale) -> Vec<FilterChip> {
    let chip = |name: &str, value: &str| FilterChip {
        label: filter_label(name, value, locale),
        href: filter.toggled(name, value),
    };
    filter.filters.iter().map(|filter| chip(filter.name, &filter.value)).collect()
}

fn link(filter: &ViewFilter, name: &str, facet: &Facet, locale: &Locale) -> FacetLink {
    let count = locale.number(i64::try_from(facet.count.count).unwrap_or(i64::MAX));
    FacetLink {
        label: filter_label(name, &facet.value, locale),
        href: filter.toggled(name, &facet.value),
        count: if facet.count.is_exact { count } else { format!("{count}+") },
        is_on: filter.has(name, &facet.value),
    }
}

fn filter_label(name: &str, value: &str, locale: &Locale) -> String {
    match name {
        "type" => {
            let kind = value.parse().unwrap_or(ContentType::Article);
            locale.t(type_key(kind))
        }
        "state" => locale.t(state_key(value)),
        "from" => locale.t_with("library-chip-from", &[("date", MessageValue::Text(value.to_owned()))]),
        "to" => locale.t_with("library-chip-to", &[("date", MessageValue::Text(value.to_owned()))]),
        "upto" => locale.t_with("library-chip-upto", &[("minutes", MessageValue::Text(value.to_owned()))]),
        "collection" => locale.t("library-chip-collection"),
        _ => visible_text(value),
    }
}

/// Returns the key of the name of a state.
fn state_key(state: &str) -> &'static str {
    match state {
        "read" => "library-state-read",
        "started" => "library-state-started",
        "archived" => "library-state-archived",
        "favorite" => "library-state-favorite",
        "processing" => "library-state-processing",
        "ready" => "library-state-ready",
        "failed" => "library-state-failed",
        _ => "library-state-unread",
    }
}
