//! The activity as a CSV file (RFC 4180), sent while it is read.

use std::collections::VecDeque;

use actix_web::HttpResponse;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use actix_web::web::{Bytes, ServiceConfig};
use actors::operations::activity::{ActivityStatus, ActivityView};
use errors::Error;
use futures_util::{Stream, stream};

use super::activity_filter::ActivityFilter;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;

/// Lines of a file, the latest. A program that calls without a pause makes more within the time for which they are kept.
const MAX_LINES: usize = 100_000;
/// Lines that are read at a time.
const BATCH_LINES: u32 = 100;
/// The names of the columns, which programs read: they are in English in every language.
const HEADER: &str = "time,surface,key_id,app_id,key_name,called,status,refused,client,results\r\n";
/// A spreadsheet takes a cell that begins with one of these for a formula.
const FORMULA_STARTS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Mounts the file.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/settings/activity.csv").not_stored().get(serve).mount(config);
}

async fn serve(page: PageRequest) -> Result<HttpResponse, Error> {
    let day = page.locale().now.day();
    let first = ActivityFilter::of(&page.query).list(&page, BATCH_LINES, None).await?;
    let progress = FileProgress {
        filter: ActivityFilter::of(&page.query),
        waiting: VecDeque::from([HEADER.to_owned(), lines_of(&first.activity)]),
        sent: first.activity.len(),
        cursor: first.next_cursor,
        page,
    };
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/csv; charset=utf-8; header=present"))
        .insert_header((CONTENT_DISPOSITION, format!("attachment; filename=\"carrel-activity-{day}.csv\"")))
        .streaming(chunks(progress)))
}

/// How much of a file is sent.
struct FileProgress {
    page: PageRequest,
    filter: ActivityFilter,
    waiting: VecDeque<String>,
    sent: usize,
    cursor: Option<String>,
}

/// Returns the file in chunks, each read when the one before is sent. A failure ends the response before its end, which clients notice.
fn chunks(progress: FileProgress) -> impl Stream<Item = Result<Bytes, Error>> {
    stream::try_unfold(progress, |mut progress| async move {
        if let Some(chunk) = progress.waiting.pop_front() {
            return Ok(Some((Bytes::from(chunk), progress)));
        }
        let Some(cursor) = progress.cursor.take().filter(|_| progress.sent < MAX_LINES) else {
            return Ok(None);
        };
        let next = progress.filter.list(&progress.page, BATCH_LINES, Some(&cursor)).await?;
        (progress.sent, progress.cursor) = (progress.sent + next.activity.len(), next.next_cursor);
        Ok(Some((Bytes::from(lines_of(&next.activity)), progress)))
    })
}

fn lines_of(calls: &[ActivityView]) -> String {
    calls.iter().map(line_of).collect()
}

fn line_of(call: &ActivityView) -> String {
    let id = |id: Option<String>| id.unwrap_or_default();
    let text = |text: &Option<String>| cell(text.as_deref().unwrap_or_default());
    let status = match &call.status {
        ActivityStatus::Number(number) => number.to_string(),
        ActivityStatus::Word(word) => cell(word),
    };
    let called = if call.tool.is_some() { text(&call.tool) } else { text(&call.route) };
    let results = call.result_count.map(|count| count.to_string()).unwrap_or_default();
    let cells = [
        call.at.to_string(),
        call.surface.name().to_owned(),
        id(call.key_id.map(|key| key.to_string())),
        id(call.app_id.map(|app| app.to_string())),
        text(&call.key_name),
        called,
        status,
        call.refused.to_string(),
        text(&call.client),
        results,
    ];
    format!("{}\r\n", cells.join(","))
}

/// Writes a cell: quoted if it must be, and never a formula.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(FORMULA_STARTS);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains(['"', ',', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(cell("GET /documents/:id"), "GET /documents/:id");
        assert_eq!(cell("a, \"b\""), "\"a, \"\"b\"\"\"");
    }

    #[test]
    fn names_of_clients_are_no_formulas() {
        assert_eq!(cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(cell("@sum"), "'@sum");
    }
}
