//! Reads a page from top to bottom into blocks, as a reader sees it.
//!
//! The walk keeps its own stack, so that no depth of nesting can use up the program's.

use trafilatura::dom::{Document, NodeId};

use super::{
    blocks::{Block, BlockKind, PageRegions, demote_layout_cells, key},
    inline_marks::{InlineMark, LineBuilder},
    plain_text,
};

/// The blocks and pictures of a page, both in the order of the page.
#[derive(Debug, Default)]
pub struct PageContent {
    /// Its blocks; `at` of each is its index.
    pub blocks: Vec<Block>,
    /// Its pictures except inline ones, which are marks of their block.
    pub pictures: Vec<Picture>,
}

/// A picture outside of a line of text.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// Number of blocks of the page before it.
    pub at: usize,
    /// Its `img` element on the page.
    pub element: NodeId,
    /// The regions of the page that contain it.
    pub regions: PageRegions,
}

/// Returns the blocks below `root`, in order.
#[cfg(test)]
pub fn blocks(page: &Document, root: NodeId) -> Vec<Block> {
    walk(page, root).blocks
}

/// Returns the blocks and pictures below `root`.
pub fn walk(page: &Document, root: NodeId) -> PageContent {
    let mut walk = PageWalker::new(page, root);
    let mut steps = vec![Step::Enter(root)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Enter(node) => walk.enter(node, &mut steps),
            Step::Leave(outer) => walk.leave(*outer),
            Step::LeaveLink => walk.links -= 1,
            Step::LeaveStyled => walk.line.close(),
        }
    }
    walk.flush();
    demote_layout_cells(&mut walk.content.blocks);
    walk.content
}

enum Step {
    Enter(NodeId),
    Leave(Box<WalkContext>),
    LeaveLink,
    LeaveStyled,
}

/// The context of the text that comes next.
#[derive(Clone)]
struct WalkContext {
    kind: BlockKind,
    regions: PageRegions,
    group: NodeId,
    element: NodeId,
}

struct PageWalker<'a> {
    page: &'a Document,
    around: WalkContext,
    links: usize,
    line: LineBuilder,
    linked: usize,
    content: PageContent,
}

impl<'a> PageWalker<'a> {
    fn new(page: &'a Document, root: NodeId) -> Self {
        let around = WalkContext {
            kind: BlockKind::Paragraph,
            regions: PageRegions::default(),
            group: root,
            element: root,
        };
        Self {
            page,
            around,
            links: 0,
            line: LineBuilder::default(),
            linked: 0,
            content: PageContent::default(),
        }
    }

    fn enter(&mut self, node: NodeId, steps: &mut Vec<Step>) {
        if self.page.is_text(node) {
            return self.push(&self.page.text_content(node));
        }
        let tag = self.page.tag_name(node);
        match ElementRole::of(tag) {
            _ if self.is_hidden(node, tag) => return,
            ElementRole::Invisible => return,
            ElementRole::Break => return self.line.push("\n"),
            ElementRole::Picture => return self.line.picture(node),
            ElementRole::Link => {
                // Links cannot be nested in HTML, but broken pages nest them, so they are counted.
                self.links += 1;
                steps.push(Step::LeaveLink);
                self.mark(node, steps);
            }
            ElementRole::Styled => self.mark(node, steps),
            ElementRole::Inline => {}
            ElementRole::Block => {
                self.flush();
                let inner = self.inside(node, tag);
                steps.push(Step::Leave(Box::new(std::mem::replace(&mut self.around, inner))));
            }
        }
        // Reversed, because the last step on the stack is taken first.
        steps.extend(self.page.child_nodes(node).into_iter().rev().map(Step::Enter));
    }

    fn mark(&mut self, node: NodeId, steps: &mut Vec<Step>) {
        if self.line.open(node) {
            steps.push(Step::LeaveStyled);
        }
    }

    fn leave(&mut self, outer: WalkContext) {
        self.flush();
        // Text after a paragraph within a list item continues the item.
        self.around = outer;
    }

    fn push(&mut self, text: &str) {
        match self.around.kind {
            BlockKind::Verbatim => self.line.push(text),
            BlockKind::Heading | BlockKind::Paragraph | BlockKind::Item | BlockKind::Cell => {
                let text: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
                self.line.push(&text);
            }
        }
        if self.links > 0 {
            self.linked += key(text).len();
        }
    }

    /// Ends the current block. Two consecutive line breaks separate paragraphs.
    fn flush(&mut self) {
        let (line, linked) = (self.line.take(), std::mem::take(&mut self.linked));
        let whole = key(&line.text).len();
        // A line without words holds pictures, which stand on their own between blocks.
        if whole == 0 {
            let (at, regions) = (self.content.blocks.len(), self.around.regions);
            return self.content.pictures.extend(line.pictures().map(|element| Picture {
                at,
                element,
                regions,
            }));
        }
        let verbatim = self.around.kind == BlockKind::Verbatim;
        let parts = if verbatim { vec![line.text.as_str()] } else { paragraphs(&line.text) };
        for (part, marks) in parts.iter().zip(line.marks_of(&parts)) {
            let text = if verbatim {
                plain_text::normalize_verbatim(part)
            } else {
                plain_text::normalize_lines(part)
            };
            // Links are counted for the whole line; each of its paragraphs gets its share by length.
            let share = linked * key(&text).len() / whole;
            self.add(text, share, marks);
        }
    }

    fn add(&mut self, text: String, linked: usize, marks: Vec<InlineMark>) {
        let key = key(&text);
        if key.is_empty() {
            return;
        }
        let WalkContext { kind, regions, group, element } = self.around;
        let at = self.content.blocks.len();
        self.content.blocks.push(Block { kind, text, key, linked, regions, group, element, marks, at });
    }

    fn inside(&self, node: NodeId, tag: &str) -> WalkContext {
        let outer = &self.around;
        let (kind, group) = match tag {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => (BlockKind::Heading, node),
            "pre" | "listing" | "xmp" => (BlockKind::Verbatim, node),
            "li" | "dt" | "dd" | "summary" => (BlockKind::Item, outer.group),
            "td" | "th" => (BlockKind::Cell, outer.group),
            "ul" | "ol" | "dl" | "tr" | "table" => (BlockKind::Paragraph, node),
            _ => (if outer.kind == BlockKind::Verbatim { BlockKind::Paragraph } else { outer.kind }, node),
        };
        let group = if matches!(outer.kind, BlockKind::Item | BlockKind::Cell) && kind == outer.kind {
            outer.group
        } else {
            group
        };
        WalkContext { kind, group, element: node, regions: self.regions(node, tag) }
    }

    fn regions(&self, node: NodeId, tag: &str) -> PageRegions {
        let mut regions = self.around.regions;
        // Classes of the body, such as `sidebar`, describe the layout of the page, not a region.
        if tag == "body" {
            return regions;
        }
        let role = self.page.get_attribute(node, "role").unwrap_or_default();
        let names =
            format!("{} {}", self.page.class_name(node), self.page.id_attr(node)).to_ascii_lowercase();
        let called = |wanted: &[&str]| names.split_whitespace().any(|name| wanted.contains(&name));
        regions.menu |= tag == "nav"
            || matches!(role.as_str(), "navigation" | "menu" | "menubar" | "search")
            || called(&["nav", "navbar", "navigation", "menu", "breadcrumb", "breadcrumbs"]);
        regions.aside |= tag == "aside" || role == "complementary" || called(&["sidebar"]);
        regions.footer |= tag == "footer" || role == "contentinfo" || called(&["footer"]);
        regions.header |= tag == "header" || role == "banner";
        regions.figure |= matches!(tag, "figure" | "figcaption") && !is_text_figure(self.page, node);
        regions.article |= matches!(tag, "article" | "main") || role == "main";
        regions
    }

    /// Returns whether the markup keeps an element off the page.
    fn is_hidden(&self, node: NodeId, tag: &str) -> bool {
        // Pages hide these until their scripts have run.
        if matches!(tag, "html" | "body" | "main" | "article") {
            return false;
        }
        let attribute = |name| self.page.get_attribute(node, name);
        // `until-found` is shown by the browser when its words are searched on the page.
        attribute("hidden").is_some_and(|hidden| hidden != "until-found")
            || attribute("aria-hidden").is_some_and(|hidden| hidden == "true")
            || attribute("style").is_some_and(|style| hides_element(&style))
    }
}

/// Returns an element and its ancestors, from the inside out.
pub fn ancestors(page: &Document, element: NodeId) -> impl Iterator<Item = NodeId> {
    std::iter::successors(Some(element), |node| page.parent(*node))
}

/// Returns whether a figure is a listing or a quotation.
pub fn is_text_figure(page: &Document, figure: NodeId) -> bool {
    !page.iter_descendants(figure, &["pre", "blockquote"]).is_empty()
        && page.iter_descendants(figure, &["img", "picture", "video", "audio", "iframe", "object"]).is_empty()
}

/// Returns whether a style keeps an element off the page.
fn hides_element(style: &str) -> bool {
    let style: String = style.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    style.contains("display:none") || style.contains("visibility:hidden")
}

/// Splits a line at two or more consecutive breaks.
fn paragraphs(line: &str) -> Vec<&str> {
    let (mut parts, mut part, mut at) = (Vec::new(), None, 0);
    for row in line.split_inclusive('\n') {
        let (from, to) = (at, at + row.len());
        at = to;
        part = match part {
            Some((begin, _)) if !row.trim().is_empty() => Some((begin, to)),
            None if !row.trim().is_empty() => Some((from, to)),
            ended => {
                parts.extend(ended);
                None
            }
        };
    }
    parts.extend(part);
    parts.into_iter().filter_map(|(from, to)| line.get(from..to)).collect()
}

/// The role of an element in the flow of text.
enum ElementRole {
    Invisible,
    Break,
    Picture,
    Link,
    Styled,
    Inline,
    Block,
}

impl ElementRole {
    fn of(tag: &str) -> Self {
        match tag {
            "script" | "style" | "noscript" | "template" | "head" | "title" | "meta" | "link" | "svg"
            | "annotation" | "annotation-xml" | "iframe" | "object" | "embed" | "canvas" | "audio"
            | "video" | "map" | "select" | "datalist" | "button" | "input" | "textarea" | "noframes"
            | "progress" | "meter" | "rp" | "rt" | "dialog" => Self::Invisible,
            "br" => Self::Break,
            "img" => Self::Picture,
            "a" => Self::Link,
            "b" | "strong" | "i" | "em" | "u" | "s" | "strike" | "del" | "ins" | "mark" | "small" | "sub"
            | "sup" | "code" | "kbd" | "samp" | "var" | "tt" | "q" | "cite" | "dfn" | "abbr" | "acronym" => {
                Self::Styled
            }
            // These are read for their words alone; a mark for each would make the HTML long.
            "span" | "big" | "time" | "data" | "bdi" | "bdo" | "font" | "label" | "wbr" | "math"
            | "semantics" | "mrow" | "mi" | "mo" | "mn" | "mtext" | "msup" | "msub" | "msubsup" | "mfrac"
            | "msqrt" | "mstyle" | "picture" | "source" | "ruby" | "rb" | "nobr" | "output" | "slot"
            | "blink" => Self::Inline,
            // Unknown elements, such as custom ones, are mostly containers. As inline ones
            // they would glue paragraphs together.
            _ => Self::Block,
        }
    }
}
