//! The blocks of a page (paragraphs, headings, list items, table cells, code) and their conversion to plain text.

use trafilatura::dom::NodeId;

use super::inline_marks::InlineMark;

/// A row with more cells, or with a longer cell, is layout rather than data.
const MAX_ROW_CELLS: usize = 20;
const MAX_CELL_BYTES: usize = 300;

/// The kind of a block.
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
    /// Code or other preformatted text.
    Verbatim,
}

/// The regions of a page that contain a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRegions {
    /// Inside `nav` or another element that declares itself a menu.
    pub menu: bool,
    /// Inside `aside`.
    pub aside: bool,
    /// Inside a `footer`.
    pub footer: bool,
    /// Inside a `header`.
    pub header: bool,
    /// Inside `figure` or `figcaption`.
    pub figure: bool,
    /// Inside `article`, `main` or another element that declares itself the body of the article.
    pub article: bool,
}

impl PageRegions {
    /// Returns whether the block is in the frame of the page: menus, footers, side columns.
    pub fn is_frame(self) -> bool {
        self.menu || self.footer || self.aside
    }
}

/// One block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its kind.
    pub kind: BlockKind,
    /// Its text; line breaks only where the page has them.
    pub text: String,
    /// The letters and digits of the text, by which it is found in another rendering.
    pub key: String,
    /// Number of bytes of `key` in links.
    pub linked: usize,
    /// The regions of the page that contain it.
    pub regions: PageRegions,
    /// Its list or table row, or else the element that contains it.
    pub group: NodeId,
    /// The innermost block element around it.
    pub element: NodeId,
    /// The markup in its text.
    pub marks: Vec<InlineMark>,
    /// Number of blocks of the page before it.
    pub at: usize,
}

impl Block {
    /// Returns whether more than `tenths` tenths of its text are links.
    pub fn is_linked_over(&self, tenths: usize) -> bool {
        self.linked * 10 > self.key.len() * tenths
    }
}

/// Returns the letters and digits of a text.
pub fn key(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Turns cells of layout tables, which contain paragraphs, into paragraphs; only rows of short cells are data.
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

/// Joins blocks to plain text, with an empty line between them, except between list items and rows. Also returns the offset of each block,
/// in Unicode scalar values.
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
