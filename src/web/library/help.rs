//! The page about the query language.

use actix_web::HttpResponse;
use askama::Template;
use errors::Error;

use crate::parts;
use crate::web::filters;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The terms of the language, each with the key of what it finds.
const TERMS: [(&str, &str); 19] = [
    ("harbour tides", "help-search-words"),
    ("\"own time\"", "help-search-quoted"),
    ("-harbour", "help-search-excluded"),
    ("tides or mud", "help-search-or"),
    ("tag:tides", "help-search-tag"),
    ("tag:\"two words\"", "help-search-tag-quoted"),
    ("is:unread", "help-search-unread"),
    ("is:started", "help-search-started"),
    ("is:archived", "help-search-archived"),
    ("is:favorite", "help-search-favorite"),
    ("is:failed", "help-search-failed"),
    ("type:pdf", "help-search-type"),
    ("site:example.org", "help-search-site"),
    ("feed:tides", "help-search-feed"),
    ("collection:\"Winter reading\"", "help-search-collection"),
    ("after:2026-03", "help-search-after"),
    ("before:2026-03-15", "help-search-before"),
    ("upto:10", "help-search-upto"),
    ("-tag:mud is:unread upto:5", "help-search-together"),
];

/// What the search box of the library understands.
#[derive(Template)]
#[template(path = "library/help_search.html", blocks = ["dialog"])]
struct HelpSearchPage {
    shell: Shell,
}

parts!(HelpSearchPage { "dialog" => as_dialog });

impl HelpSearchPage {
    fn terms(&self) -> [(&'static str, &'static str); 19] {
        TERMS
    }
}

/// Shows the page.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let shell = request.shell(NavigationEntry::Library).await?;
    request.show(&HelpSearchPage { shell })
}

#[cfg(test)]
mod tests {
    use library::query::LibraryQuery;

    use super::*;

    #[test]
    fn examples_of_the_help_page_are_queries() {
        for (term, _) in TERMS {
            assert_eq!(LibraryQuery::parse(term).map(|query| query.to_string()), Ok(term.to_owned()));
        }
    }
}
