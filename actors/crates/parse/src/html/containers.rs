//! Writes the elements around blocks: lists, tables, quotations.

use std::collections::HashSet;

use trafilatura::dom::{Document, NodeId};

use super::blocks::{Block, BlockKind};
use super::walk;

/// Maximum nesting depth of lists and similar elements that is written; deeper ones are left out, and their text is kept.
const MAX_DEPTH: usize = 24;
/// Maximum number of empty cells that are written before a cell.
const MAX_EMPTY_CELLS: usize = 100;

/// A written element that is still open.
#[derive(Clone, Copy, Debug)]
struct OpenContainer {
    element: NodeId,
    tag: &'static str,
    /// For a row: number of written cells.
    cells: usize,
}

/// The elements that are open at the current position of the output.
pub struct Containers<'a> {
    page: &'a Document,
    /// The tables with data, as opposed to layout tables.
    tables: HashSet<NodeId>,
    open: Vec<OpenContainer>,
}

impl<'a> Containers<'a> {
    /// Creates the state for these blocks, with no open element.
    pub fn new(page: &'a Document, blocks: &[&Block]) -> Self {
        let cells = blocks.iter().filter(|block| block.kind == BlockKind::Cell);
        let tables = cells.filter_map(|block| {
            walk::ancestors(page, block.element).find(|node| page.tag_name(*node) == "table")
        });
        Self { page, tables: tables.collect(), open: Vec::new() }
    }

    /// Closes the elements that do not contain this one, and opens those that do.
    pub fn enter(&mut self, element: NodeId, out: &mut String) {
        let wanted = self.wanted(element);
        let same =
            self.open.iter().zip(&wanted).take_while(|(open, (element, _))| open.element == *element).count();
        self.close(same, out);
        for (element, tag) in wanted.into_iter().skip(same) {
            self.begin(element, tag, out);
        }
    }

    /// Returns whether this element is the one that was opened last and may contain text directly.
    pub fn accepts_text_in(&self, element: NodeId) -> bool {
        // A quotation holds paragraphs, even if the page has its words directly in it.
        self.open.last().is_some_and(|open| open.element == element && open.tag != "blockquote")
    }

    /// Closes all elements that are open.
    pub fn leave(&mut self, out: &mut String) {
        self.close(0, out);
    }

    fn wanted(&self, element: NodeId) -> Vec<(NodeId, &'static str)> {
        let (mut wanted, mut in_data): (Vec<(NodeId, &'static str)>, bool) = (Vec::new(), false);
        for element in path_from_root(self.page, element) {
            let Some(tag) = output_tag(self.page.tag_name(element)) else { continue };
            if tag == "table" {
                in_data = self.tables.contains(&element);
            }
            let of_table = matches!(tag, "table" | "tbody" | "tr" | "td" | "th");
            let around = wanted.last().map(|(_, tag)| *tag);
            // What does not fit is left out rather than repaired: a parser would move it elsewhere, and the order
            // of the text would change.
            if fits(around, tag) && (in_data || !of_table) && wanted.len() < MAX_DEPTH {
                wanted.push((element, tag));
            }
        }
        // A list or row that contains the text directly is closed again, because HTML allows no text in it.
        while wanted.last().is_some_and(|(_, tag)| holds_no_words(tag)) {
            wanted.pop();
        }
        wanted
    }

    fn begin(&mut self, element: NodeId, tag: &'static str, out: &mut String) {
        if matches!(tag, "td" | "th") {
            self.fill_row(element, out);
        }
        out.push('<');
        out.push_str(tag);
        for name in number_attributes(tag) {
            let value = self.page.get_attribute(element, name);
            // Parsed as a number, so that no other text of the page gets into an attribute.
            if let Some(number) = value.and_then(|value| value.trim().parse::<u16>().ok()) {
                out.push_str(&format!(" {name}=\"{number}\""));
            }
        }
        out.push('>');
        self.open.push(OpenContainer { element, tag, cells: 0 });
    }

    /// Writes the empty cells before a cell.
    fn fill_row(&mut self, cell: NodeId, out: &mut String) {
        let before = std::iter::successors(self.page.prev_element_sibling(cell), |other| {
            self.page.prev_element_sibling(*other)
        });
        let before = before.filter(|other| matches!(self.page.tag_name(*other), "td" | "th"));
        if let Some(row) = self.open.last_mut() {
            // Without this bound a row of many cells takes quadratic time, because each cell counts those before it.
            let before = before.take(row.cells + MAX_EMPTY_CELLS).count();
            (row.cells..before).for_each(|_| out.push_str("<td></td>"));
            row.cells = before.max(row.cells) + 1;
        }
    }

    fn close(&mut self, left: usize, out: &mut String) {
        for open in self.open.drain(left.min(self.open.len())..).rev() {
            out.push_str(&format!("</{}>", open.tag));
        }
    }
}

/// Returns the elements from the root of the page down to this one.
pub fn path_from_root(page: &Document, element: NodeId) -> Vec<NodeId> {
    let mut path: Vec<NodeId> = walk::ancestors(page, element).collect();
    path.reverse();
    path
}

/// Returns the tag with which an element is written; `None` if it is not.
fn output_tag(tag: &str) -> Option<&'static str> {
    match tag {
        "ul" | "menu" | "dir" => Some("ul"),
        "ol" => Some("ol"),
        "li" => Some("li"),
        "dl" => Some("dl"),
        "dt" => Some("dt"),
        "dd" => Some("dd"),
        "blockquote" => Some("blockquote"),
        "table" => Some("table"),
        // One kind of row group is enough for reading, and keeps the list of allowed elements short.
        "tbody" | "thead" | "tfoot" => Some("tbody"),
        "tr" => Some("tr"),
        "td" => Some("td"),
        "th" => Some("th"),
        _ => None,
    }
}

/// Returns the numeric attributes that are written.
fn number_attributes(tag: &str) -> &'static [&'static str] {
    match tag {
        "ol" => &["start"],
        "li" => &["value"],
        "td" | "th" => &["colspan", "rowspan"],
        _ => &[],
    }
}

/// Returns whether HTML allows the element directly in the other.
fn fits(around: Option<&str>, tag: &str) -> bool {
    match tag {
        "li" => matches!(around, Some("ul" | "ol")),
        "dt" | "dd" => around == Some("dl"),
        "tbody" => around == Some("table"),
        "tr" => around == Some("tbody"),
        "td" | "th" => around == Some("tr"),
        _ => !around.is_some_and(holds_no_words),
    }
}

fn holds_no_words(tag: &str) -> bool {
    matches!(tag, "ul" | "ol" | "dl" | "table" | "tbody" | "tr")
}
