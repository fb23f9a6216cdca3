//! The list of the library, and that of a collection.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operations::bookmarks::{BookmarkView, CountFacets, CountMatches, FacetCount, ListBookmarks};
use actors::operations::collections::{CollectionView, ListTopCollections, ShowCollection};
use actors::operations::saved_searches::{ListSavedSearches, SavedSearchView};
use actors::target::Target;
use askama::Template;
use errors::Error;
use library::query::QueryCondition;
use serde_json::{Map, Value, json};
use values::kind::PictureMode;

use super::facet_links::{FacetGroup, FilterChip, facet_groups, filter_chips};
use super::fault_text::query_fault_text;
use super::rows::LibraryRow;
use super::view_filter::{ListSort, ListView, ViewFilter};
use crate::parts;
use crate::web::filters;
use crate::web::locale::Locale;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// Bookmarks of a page.
const PAGE_ROWS: u64 = 50;
/// The longest query that the list takes, in characters.
const MAX_QUERY_CHARS: usize = 500;
/// Collections, and saved searches, that are linked beside the list; their pages have all.
const MAX_SHORTCUTS: usize = 8;

/// A list of bookmarks with its filters.
#[derive(Template)]
#[template(path = "library/library.html", blocks = ["title_line", "results", "facets"])]
struct LibraryPage {
    shell: Shell,
    filter: ViewFilter,
    /// The query with all filters, for changes of everything that it matches.
    query: String,
    /// What is wrong with the query.
    fault: Option<String>,
    rows: Vec<LibraryRow>,
    next: Option<String>,
    counts: Option<ShownCounts>,
    /// Whether no bookmark is saved at all.
    is_empty_library: bool,
    groups: Vec<FacetGroup>,
    chips: Vec<FilterChip>,
    /// The first collections of the top level.
    collections: Vec<CollectionView>,
    /// The first saved searches.
    saved: Vec<SavedSearchView>,
    /// The collection whose list it is.
    collection: Option<CollectionView>,
    /// Whether a row changes by itself, so that the list is asked for again.
    is_live: bool,
}

parts!(LibraryPage {
    "library-title" => as_title_line,
    "library-results" => as_results,
    "library-facets" => as_facets,
});

impl LibraryPage {
    /// How many bookmarks match, as it is written: `184`, `1,000+`.
    fn total_text(&self) -> String {
        self.counts.as_ref().map(|counts| counts.total.clone()).unwrap_or_default()
    }

    /// The number of bookmarks that match, for a script: a lower bound if they were not all counted.
    fn total_number(&self) -> usize {
        self.counts.as_ref().map_or(0, |counts| counts.count)
    }

    fn views(&self) -> [ListView; 3] {
        ListView::ALL
    }

    fn sorts(&self) -> [ListSort; 4] {
        ListSort::ALL
    }
}

/// The numbers in the head of the page.
struct ShownCounts {
    /// How many bookmarks match: `184`, `1,000+`.
    total: String,
    /// How many bookmarks there are.
    library: String,
    count: usize,
}

impl ShownCounts {
    fn new(matches: FacetCount, library: i64, is_filtered: bool, locale: &Locale) -> Self {
        let number = |count: usize| locale.number(i64::try_from(count).unwrap_or(i64::MAX));
        let library = locale.number(library);
        let total = match (is_filtered, matches.is_exact) {
            // The number of all is known, however large it is.
            (false, _) => library.clone(),
            (true, true) => number(matches.count),
            (true, false) => format!("{}+", number(matches.count)),
        };
        Self { total, library, count: matches.count }
    }
}

/// Shows the library.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let filter = ViewFilter::of("/library", &request.query);
    respond(&request, filter, None).await
}

/// Shows the bookmarks in a collection.
pub async fn show_collection(request: PageRequest) -> Result<HttpResponse, Error> {
    let shown = request.run_query::<ShowCollection>(&request.target(), &[]).await?.collection;
    let condition = QueryCondition::Collection(shown.collection_id.to_string());
    let filter =
        ViewFilter::within(&format!("/collections/{}", shown.collection_id), &request.query, condition);
    respond(&request, filter, Some(shown)).await
}

async fn respond(
    request: &PageRequest,
    filter: ViewFilter,
    collection: Option<CollectionView>,
) -> Result<HttpResponse, Error> {
    let (query, mut fault) = match &filter.query {
        Ok(query) => (query.to_string(), None),
        Err(fault) => (String::new(), Some(query_fault_text(*fault, request.locale()))),
    };
    if query.chars().count() > MAX_QUERY_CHARS {
        fault = Some(request.locale().t("library-query-long"));
    }
    let shell = request.shell(NavigationEntry::Library).await?;
    let mut page = LibraryPage {
        shell,
        query,
        fault,
        rows: Vec::new(),
        next: None,
        counts: None,
        is_empty_library: false,
        groups: Vec::new(),
        chips: filter_chips(&filter, request.locale()),
        collections: Vec::new(),
        saved: Vec::new(),
        collection,
        is_live: false,
        filter,
    };
    if page.fault.is_some() {
        return request.show_with_status(StatusCode::UNPROCESSABLE_ENTITY, &page);
    }
    page.load(request).await?;
    request.show(&page)
}

impl LibraryPage {
    async fn load(&mut self, request: &PageRequest) -> Result<(), Error> {
        if request.wants::<Self>("library-results") {
            self.load_rows(request).await?;
        }
        if request.wants::<Self>("library-facets") {
            self.load_facets(request).await?;
            return self.load_shortcuts(request).await;
        }
        let query = json!({ "q": self.query });
        let counts = request.run_json::<CountMatches>(&Target::default(), query).await?;
        self.set_counts(counts.total, counts.library, request.locale());
        Ok(())
    }

    async fn load_rows(&mut self, request: &PageRequest) -> Result<(), Error> {
        let listed = request.run_json::<ListBookmarks>(&Target::default(), self.list_request()).await?;
        let bookmarks: Vec<BookmarkView> = listed.bookmarks;
        self.rows = LibraryRow::of_page(bookmarks, self.filter.sort.is_by_saving(), request);
        if self.filter.is_cards() && request.viewer.settings.pictures == PictureMode::Shown {
            let owner = request.viewer.caller.user;
            self.rows =
                std::mem::take(&mut self.rows).into_iter().map(|row| row.with_picture(owner)).collect();
        }
        self.is_live = self.rows.iter().any(LibraryRow::is_processing);
        self.next = listed.next_cursor.map(|cursor| self.filter.after(&cursor));
        Ok(())
    }

    async fn load_facets(&mut self, request: &PageRequest) -> Result<(), Error> {
        let counts = request.run_json::<CountFacets>(&Target::default(), json!({ "q": self.query })).await?;
        self.groups = facet_groups(&self.filter, &counts, request.locale());
        self.set_counts(counts.total, counts.library, request.locale());
        Ok(())
    }

    fn set_counts(&mut self, matches: FacetCount, library: i64, locale: &Locale) {
        let is_filtered = self.filter.is_filtered() || self.collection.is_some();
        self.counts = Some(ShownCounts::new(matches, library, is_filtered, locale));
        self.is_empty_library = library == 0;
    }

    /// Loads the collections and saved searches that are linked beside the list.
    async fn load_shortcuts(&mut self, request: &PageRequest) -> Result<(), Error> {
        let first = ListTopCollections { limit: MAX_SHORTCUTS as u64 };
        self.collections = request.run(first).await?.collections;
        let saved = request.run_json::<ListSavedSearches>(&Target::default(), json!({})).await?;
        self.saved = saved.saved_searches.into_iter().take(MAX_SHORTCUTS).collect();
        Ok(())
    }

    fn list_request(&self) -> Value {
        let mut list = Map::new();
        list.insert("limit".to_owned(), json!(PAGE_ROWS));
        list.insert("sort".to_owned(), json!(self.filter.sort.name()));
        if !self.query.is_empty() {
            list.insert("q".to_owned(), json!(self.query));
        }
        if let Some(cursor) = &self.filter.cursor {
            list.insert("cursor".to_owned(), json!(cursor));
        }
        Value::Object(list)
    }
}
