//! Search: passages by document, each of which opens where it stands.

mod address;
mod near;
mod view;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::search_passages::{OperatorFault, QueryWordFault, SearchOperators, SearchPassages};
use actors::target::Target;
use askama::Template;
use errors::Error;

use super::page::faults::FormFaults;
use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::shell::{NavigationEntry, Shell};
use super::strings::ToMessageValue;
use crate::parts;
use crate::web::filters;
use address::SearchAddress;
use near::{NearView, find_near};
use view::{ResultsView, SearchFacetView};

pub use view::HitView;

/// The page of a search.
#[derive(Template)]
#[template(path = "search/search.html", blocks = ["results", "facets"])]
struct SearchPage {
    shell: Shell,
    address: SearchAddress,
    /// What was found; `None` without a query, and if the query has a fault.
    results: Option<ResultsView>,
    /// What is near a search that found nothing; `None` if nothing is.
    near: Option<NearView>,
    /// What is wrong with the query.
    fault: Option<String>,
    places: Vec<SearchFacetView>,
    kinds: Vec<SearchFacetView>,
}

parts!(SearchPage { "results" => as_results, "facets" => as_facets });

/// Mounts the page.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/search").get(show).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let address = SearchAddress::of(&request.query);
    let (results, fault) = match find(&request, &address).await {
        Ok(results) => (results, None),
        Err(error) => (None, Some(fault_of(&request, error)?)),
    };
    let near = match &results {
        Some(found) if found.hits.is_empty() => load_near(&request, &address).await,
        Some(_) | None => None,
    };
    let (places, kinds) = (SearchFacetView::places(&address), SearchFacetView::kinds(&address));
    let shell = request.shell(NavigationEntry::Search).await?;
    request.show(&SearchPage { shell, address, results, near, fault, places, kinds })
}

/// Why a search found nothing that can be shown.
enum SearchFault {
    /// A word of the query is wrong.
    Word(QueryWordFault),
    /// The operation failed.
    Failed(Error),
}

impl From<Error> for SearchFault {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

async fn find(request: &PageRequest, address: &SearchAddress) -> Result<Option<ResultsView>, SearchFault> {
    if address.query.is_empty() {
        return Ok(None);
    }
    SearchOperators::parse(&address.query).map_err(SearchFault::Word)?;
    let found = request.run_json::<SearchPassages>(&Target::default(), address.to_json()).await?;
    Ok(Some(ResultsView::new(found, address, request)))
}

/// Returns what is near a search that found nothing. The page is shown although that fails, such as when too many searches run.
async fn load_near(request: &PageRequest, address: &SearchAddress) -> Option<NearView> {
    match find_near(request, address).await {
        Ok(near) => Some(near).filter(|near| !near.is_empty()),
        Err(error) => {
            tracing::warn!(%error, "could not look for what is near a search");
            None
        }
    }
}

/// Returns what is wrong with the query, as a sentence.
///
/// # Errors
/// The error of the operation if no other query would change it.
fn fault_of(request: &PageRequest, fault: SearchFault) -> Result<String, Error> {
    let locale = request.locale();
    match fault {
        SearchFault::Word(QueryWordFault { fault, word }) => {
            let key = match fault {
                OperatorFault::State => "search-fault-state",
                OperatorFault::Type => "search-fault-type",
                OperatorFault::Date => "search-fault-date",
                OperatorFault::Tag => "search-fault-tag",
                OperatorFault::Exclusion => "search-fault-exclusion",
                OperatorFault::NoWords => "search-fault-no-words",
            };
            Ok(locale.t_with(key, &[("word", word.to_message_value())]))
        }
        SearchFault::Failed(error) => {
            let (_, faults) = FormFaults::from_error(error, locale)?;
            let sentence = faults.of("q").map(str::to_owned).or_else(|| faults.form.clone());
            Ok(sentence.unwrap_or_else(|| locale.t("search-fault-address")))
        }
    }
}
