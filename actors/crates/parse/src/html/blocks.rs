//! The blocks of a page (paragraphs, headings, list items, table cells, code) and their conversion to plain text.

use trafilatura::dom::NodeId;

use super::inline_marks::InlineMark;

/// A row with more cells, or with a longer cell, is layout rather than data.
const MAX_ROW_CELLS: usize = 20;
const MAX_CELL_BYTES: usize = 300;

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A heading, `h1` to `h6`.
    Heading,
    /// Running text, and everything that has no other kind.
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
    /// Inside `aside` or another element that declares itself a side column.
    pub aside: bool,
    /// Inside `footer` or another element that declares itself one.
    pub footer: bool,
    /// Inside `header` or an element with the role `banner`.
    pub header: bool,
    /// Inside a `figure` or `figcaption` that holds no listing or quotation.
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

/// A run of text of a page, without the white space around it.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its kind, which decides how it is separated from its neighbours and written as HTML.
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
    /// The inline markup of its text, such as links and emphasis.
    pub marks: Vec<InlineMark>,
    /// Its index: the number of blocks of the page before it.
    pub at: usize,
}

impl Block {
    /// Returns whether more than `tenths` tenths of its text are links.
    pub fn is_linked_over(&self, tenths: usize) -> bool {
        self.linked * 10 > self.key.len() * tenths
    }
}

/// Returns the letters and digits of a text, in their case. Renderings of one text differ in white space and signs, but not in these.
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

/// Joins blocks to plain text, with an empty line between them, except between list items and rows. Also returns the offset of each
/// block, in Unicode scalar values.
pub fn join_text(blocks: &[&Block]) -> (String, Vec<usize>) {
    let (mut out, mut chars, mut starts) = (String::new(), 0, Vec::with_capacity(blocks.len()));
    let mut last: Option<&Block> = None;
    for block in blocks {
        // Separators are ASCII, so their length in bytes is their number of characters.
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
        // Cells of one row are on one line, so that a row is read and quoted as a whole.
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
