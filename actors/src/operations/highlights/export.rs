//! Writes highlights as Markdown, CSV or JSON, a page at a time.

use errors::Error;
use serde_json::to_string;
use values::id::DocumentId;

use super::across::{HighlightFilter, ListAllHighlights};
use super::with_documents::HighlightOfDocument;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;

/// Highlights that are read at once.
const PAGE_HIGHLIGHTS: u64 = 100;
/// The columns of the CSV, in the order in which [`csv_row`] writes them.
const CSV_HEADER: &str = "title,author,url,text,note,color,anchorState,paragraph,page,seconds,startOffset,endOffset,createdAt,highlightId\r\n";

/// The format of an export of highlights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Quotations below a heading for each document.
    Markdown,
    /// A row for each highlight.
    Csv,
    /// An array of the highlights as the API returns them.
    Json,
}

/// An export that is being written.
pub struct HighlightExport {
    filter: HighlightFilter,
    format: ExportFormat,
    state: ExportState,
    document: Option<DocumentId>,
    is_first: bool,
}

enum ExportState {
    Begins,
    Continues(String),
    Ended,
}

impl HighlightExport {
    /// Begins an export of the highlights that match a filter.
    pub fn new(filter: HighlightFilter, format: ExportFormat) -> Self {
        Self { filter, format, state: ExportState::Begins, document: None, is_first: true }
    }

    /// Returns the next part of the export; `None` at its end.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the document of the filter does not exist; those of the database.
    pub async fn next_part(
        &mut self,
        caller: &Caller,
        ctx: &OperationContext,
    ) -> Result<Option<String>, Error> {
        let cursor = match std::mem::replace(&mut self.state, ExportState::Ended) {
            ExportState::Ended => return Ok(None),
            ExportState::Begins => None,
            ExportState::Continues(cursor) => Some(cursor),
        };
        let begins = cursor.is_none();
        let page = ListAllHighlights::filtered(self.filter.clone(), PAGE_HIGHLIGHTS, cursor);
        let page = page.run(caller, ctx).await?;
        let mut part = if begins { self.head().to_owned() } else { String::new() };
        for highlight in &page.highlights {
            part.push_str(&self.one(highlight)?);
        }
        match page.next_cursor {
            Some(cursor) => self.state = ExportState::Continues(cursor),
            None => part.push_str(self.foot()),
        }
        Ok(Some(part))
    }

    fn head(&self) -> &'static str {
        match self.format {
            ExportFormat::Markdown => "",
            ExportFormat::Csv => CSV_HEADER,
            ExportFormat::Json => "[",
        }
    }

    fn foot(&self) -> &'static str {
        match self.format {
            ExportFormat::Markdown | ExportFormat::Csv => "",
            ExportFormat::Json => "]\n",
        }
    }

    fn one(&mut self, of: &HighlightOfDocument) -> Result<String, Error> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        let is_same_document = self.document.replace(of.document_id) == Some(of.document_id);
        Ok(match self.format {
            ExportFormat::Markdown if is_same_document => quotation(of),
            ExportFormat::Markdown => format!("{}{}", heading(of, is_first), quotation(of)),
            ExportFormat::Csv => csv_row(of),
            ExportFormat::Json if is_first => to_string(of).map_err(Error::internal)?,
            ExportFormat::Json => format!(",\n{}", to_string(of).map_err(Error::internal)?),
        })
    }
}

fn heading(of: &HighlightOfDocument, is_first: bool) -> String {
    let title = escape_link_text(&of.title);
    let author = of.author.as_deref().map(|author| escape_html(&one_line(author)));
    let author = author.map(|author| format!("{author}\n\n")).unwrap_or_default();
    let gap = if is_first { "" } else { "\n" };
    format!("{gap}## [{title}](<{}>)\n\n{author}", of.url.replace(['<', '>', '\n', '\r'], ""))
}

fn quotation(of: &HighlightOfDocument) -> String {
    let text = escape_html(&of.highlight.text);
    let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
    let note = of.highlight.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
    let note = note.map(|note| format!("\n{note}\n")).unwrap_or_default();
    format!("{quoted}{note}\n")
}

/// Returns a title as the text of a link in Markdown.
fn escape_link_text(title: &str) -> String {
    escape_html(&one_line(title)).replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

/// Escapes HTML in what a page determines: its title, author and text. Some viewers of Markdown run the HTML in a file. Notes are
/// not escaped: they are Markdown of the user.
fn escape_html(text: &str) -> String {
    // Entities, because some viewers do not know `\<`.
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn csv_row(of: &HighlightOfDocument) -> String {
    let highlight = &of.highlight;
    let number = |number: Option<String>| number.unwrap_or_default();
    let cells = [
        csv_cell(&of.title),
        csv_cell(of.author.as_deref().unwrap_or_default()),
        csv_cell(&of.url),
        csv_cell(&highlight.text),
        csv_cell(highlight.note.as_deref().unwrap_or_default()),
        csv_cell(highlight.color.as_deref().unwrap_or_default()),
        highlight.anchor_state.name().to_owned(),
        number(of.paragraph.map(|paragraph| paragraph.to_string())),
        number(of.page.map(|page| page.to_string())),
        number(of.seconds.map(|seconds| format!("{seconds:.1}"))),
        highlight.start_offset.to_string(),
        highlight.end_offset.to_string(),
        highlight.created_at.to_string(),
        highlight.highlight_id.to_string(),
    ];
    format!("{}\r\n", cells.join(","))
}

/// Returns a cell in quotes. A text that a spreadsheet would compute begins with an apostrophe.
fn csv_cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use values::id::{BookmarkId, HighlightId};
    use values::kind::{AnchorState, ContentType};
    use values::time::Timestamp;

    use super::super::view::AnchoredHighlight;
    use super::*;

    fn highlight(text: &str, note: Option<&str>) -> HighlightOfDocument {
        HighlightOfDocument {
            highlight: AnchoredHighlight {
                highlight_id: HighlightId(Uuid::nil()),
                text: text.to_owned(),
                note: note.map(str::to_owned),
                color: Some("green".to_owned()),
                start_offset: 3,
                end_offset: 8,
                anchor_state: AnchorState::Moved,
                created_at: Timestamp::from_millis(1_714_996_800_000),
            },
            document_id: DocumentId(Uuid::nil()),
            bookmark_id: BookmarkId(Uuid::nil()),
            title: "On [grey]\nherons".to_owned(),
            author: Some("Ada".to_owned()),
            url: "https://birds.example/a".to_owned(),
            content_type: ContentType::Article,
            paragraph: Some(2),
            page: None,
            seconds: None,
            tags: Vec::new(),
        }
    }

    fn export(format: ExportFormat) -> HighlightExport {
        HighlightExport::new(HighlightFilter::default(), format)
    }

    #[test]
    fn markdown_has_one_heading_for_a_document() {
        let mut export = export(ExportFormat::Markdown);

        let first = export.one(&highlight("Reeds,\nreeds", Some(" Why? "))).unwrap();
        let second = export.one(&highlight("Fish", None)).unwrap();

        assert_eq!(
            first,
            "## [On \\[grey\\] herons](<https://birds.example/a>)\n\nAda\n\n> Reeds,\n> reeds\n\nWhy?\n\n"
        );
        assert_eq!(second, "> Fish\n\n");
    }

    #[test]
    fn markdown_has_no_html_of_pages() {
        let html = "<img src=x> & [b]";
        let of = HighlightOfDocument {
            title: html.to_owned(),
            author: Some(html.to_owned()),
            ..highlight(html, Some("<b>"))
        };

        let markdown = export(ExportFormat::Markdown).one(&of).unwrap();

        assert_eq!(
            markdown,
            "## [&lt;img src=x&gt; &amp; \\[b\\]](<https://birds.example/a>)\n\n&lt;img src=x&gt; &amp; [b]\n\n\
             > &lt;img src=x&gt; &amp; [b]\n\n<b>\n\n"
        );
    }

    #[test]
    fn csv_quotes_cells_and_has_no_formulas() {
        let row = csv_row(&highlight("=SUM(A1)", Some("a \"b\"")));

        assert!(row.contains(",\"'=SUM(A1)\",\"a \"\"b\"\"\",\"green\",moved,2,,,3,8,"), "{row}");
        assert_eq!(row.matches("\r\n").count(), 1);
        assert_eq!(CSV_HEADER.split(',').count(), 14);
    }

    #[test]
    fn json_parts_join_to_an_array() {
        let mut export = export(ExportFormat::Json);
        let (first, second) =
            (export.one(&highlight("One", None)).unwrap(), export.one(&highlight("Two", None)).unwrap());

        let all = format!("{}{first}{second}{}", export.head(), export.foot());

        let parsed: serde_json::Value = serde_json::from_str(&all).unwrap();
        assert_eq!(parsed[1]["text"], "Two");
        assert_eq!(parsed[0]["anchorState"], "moved");
    }
}
