//! The pieces a page is made of for its reader, paragraphs, headings, list items, table rows, code, and how they
//! become plain text.

use trafilatura::dom::NodeId;

use super::markup::Mark;

/// More cells than this in a row, or a longer one, are layout.
const ROW_CELLS: usize = 20;
const CELL_BYTES: usize = 300;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A heading of any level.
    Heading,
    /// Running text.
    Paragraph,
    /// An item of a list, or its first paragraph.
    Item,
    /// A cell of a table.
    Cell,
    /// Code or other text whose lines are as they are.
    Verbatim,
}

/// The parts of a page that a block stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Inside `nav` or what says it is a menu.
    pub menu: bool,
    /// Inside `aside`.
    pub aside: bool,
    /// Inside a `footer`.
    pub footer: bool,
    /// Inside a `header`.
    pub header: bool,
    /// Inside `figure` or `figcaption`.
    pub figure: bool,
    /// Inside `article`, `main` or what says it is the article's body.
    pub article: bool,
}

impl Place {
    /// Around the page's own text: menus, footers, side columns.
    pub fn is_frame(self) -> bool {
        self.menu || self.footer || self.aside
    }
}

/// One block.
#[derive(Clone, Debug)]
pub struct Block {
    /// What it is.
    pub kind: Kind,
    /// Its words; lines only where the page breaks them.
    pub text: String,
    /// Letters and digits of the text alone, by which it is found again in another rendering.
    pub key: String,
    /// How many bytes of `key` stand in links.
    pub linked: usize,
    /// Where it stands.
    pub place: Place,
    /// The list or table row that it belongs to, else the element that holds it.
    pub group: NodeId,
    /// The innermost element around it that is no part of a line.
    pub element: NodeId,
    /// The markup within its words.
    pub marks: Vec<Mark>,
    /// How many blocks of the page stand before it.
    pub at: usize,
}

impl Block {
    /// More than so many tenths of its words are links.
    pub fn is_linked_over(&self, tenths: usize) -> bool {
        self.linked * 10 > self.key.len() * tenths
    }
}

/// Letters and digits of a text.
pub fn key(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Tables that lay out a page hold paragraphs; only short cells are a row of data.
pub fn settle_rows(blocks: &mut [Block]) {
    for row in blocks.chunk_by_mut(|one, next| {
        one.kind == Kind::Cell && next.kind == Kind::Cell && one.group == next.group
    }) {
        if row.len() > ROW_CELLS
            || row.iter().any(|cell| cell.kind == Kind::Cell && cell.text.len() > CELL_BYTES)
        {
            row.iter_mut()
                .filter(|cell| cell.kind == Kind::Cell)
                .for_each(|cell| cell.kind = Kind::Paragraph);
        }
    }
}

/// The blocks as plain text: an empty line between them, but items and rows one under the other. With it comes where each of
/// them begins, in Unicode scalar values.
pub fn text(blocks: &[&Block]) -> (String, Vec<usize>) {
    let (mut out, mut chars, mut starts) = (String::new(), 0, Vec::with_capacity(blocks.len()));
    let mut last: Option<&Block> = None;
    for block in blocks {
        let gap = last.map_or("", |last| between(last, block));
        out.push_str(gap);
        out.push_str(&block.text);
        starts.push(chars + gap.len());
        chars += gap.len() + block.text.chars().count();
        last = Some(block);
    }
    (out, starts)
}

fn between(one: &Block, next: &Block) -> &'static str {
    match (one.kind, next.kind) {
        (Kind::Item, Kind::Item) => "\n",
        (Kind::Cell, Kind::Cell) if one.group == next.group => " | ",
        (Kind::Cell, Kind::Cell) => "\n",
        (
            Kind::Heading | Kind::Paragraph | Kind::Item | Kind::Cell | Kind::Verbatim,
            Kind::Heading | Kind::Paragraph | Kind::Item | Kind::Cell | Kind::Verbatim,
        ) => "\n\n",
    }
}
