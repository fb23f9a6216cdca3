//! The pieces a page is made of for its reader, paragraphs, headings, list items, table rows, code, and how they
//! become plain text.

use trafilatura::dom::NodeId;

use super::inline_marks::InlineMark;

/// More cells than this in a row, or a longer one, are layout.
const MAX_ROW_CELLS: usize = 20;
const MAX_CELL_BYTES: usize = 300;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
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

/// The parts of a page that a block is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRegions {
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

impl PageRegions {
    /// Around the page's own text: menus, footers, side columns.
    pub fn is_frame(self) -> bool {
        self.menu || self.footer || self.aside
    }
}

/// One block.
#[derive(Clone, Debug)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Its words; lines only where the page breaks them.
    pub text: String,
    /// Letters and digits of the text alone, by which it is found again in another rendering.
    pub key: String,
    /// How many bytes of `key` stand in links.
    pub linked: usize,
    /// The parts of the page that it is in.
    pub regions: PageRegions,
    /// The list or table row that it belongs to, else the element that holds it.
    pub group: NodeId,
    /// The innermost element around it that is no part of a line.
    pub element: NodeId,
    /// The markup within its words.
    pub marks: Vec<InlineMark>,
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
pub fn demote_layout_cells(blocks: &mut [Block]) {
    for row in blocks.chunk_by_mut(|one, next| {
        one.kind == BlockKind::Cell && next.kind == BlockKind::Cell && one.group == next.group
    }) {
        if row.len() > MAX_ROW_CELLS
            || row.iter().any(|cell| cell.kind == BlockKind::Cell && cell.text.len() > MAX_CELL_BYTES)
        {
            row.iter_mut()
                .filter(|cell| cell.kind == BlockKind::Cell)
                .for_each(|cell| cell.kind = BlockKind::Paragraph);
        }
    }
}

/// The blocks as plain text: an empty line between them, but items and rows one under the other. With it comes where each of
/// them begins, in Unicode scalar values.
pub fn join_text(blocks: &[&Block]) -> (String, Vec<usize>) {
    let (mut out, mut chars, mut starts) = (String::new(), 0, Vec::with_capacity(blocks.len()));
    let mut last: Option<&Block> = None;
    for block in blocks {
        let gap = last.map_or("", |last| separator(last, block));
        out.push_str(gap);
        out.push_str(&block.text);
        starts.push(chars + gap.len());
        chars += gap.len() + block.text.chars().count();
        last = Some(block);
    }
    (out, starts)
}

fn separator(one: &Block, next: &Block) -> &'static str {
    match (one.kind, next.kind) {
        (BlockKind::Item, BlockKind::Item) => "\n",
        (BlockKind::Cell, BlockKind::Cell) if one.group == next.group => " | ",
        (BlockKind::Cell, BlockKind::Cell) => "\n",
        (
            BlockKind::Heading
            | BlockKind::Paragraph
            | BlockKind::Item
            | BlockKind::Cell
            | BlockKind::Verbatim,
            BlockKind::Heading
            | BlockKind::Paragraph
            | BlockKind::Item
            | BlockKind::Cell
            | BlockKind::Verbatim,
        ) => "\n\n",
    }
}
