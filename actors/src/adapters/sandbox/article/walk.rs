//! Reads a page from top to bottom into blocks, as a reader sees it.
//!
//! The walk keeps its own stack, so that no depth of nesting can use up the program's.

use trafilatura::dom::{Document, NodeId};

use super::{
    blocks::{Block, Kind, Place, key, settle_rows},
    prose,
};

/// The blocks below `root`, in order.
pub fn blocks(page: &Document, root: NodeId) -> Vec<Block> {
    let mut walk = Walk::new(page, root);
    let mut steps = vec![Step::Enter(root)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Enter(node) => walk.enter(node, &mut steps),
            Step::Leave(outer) => walk.leave(*outer),
            Step::LeaveLink => walk.links -= 1,
        }
    }
    walk.flush();
    settle_rows(&mut walk.blocks);
    walk.blocks
}

enum Step {
    Enter(NodeId),
    Leave(Box<Around>),
    LeaveLink,
}

/// What is true of the text that comes next.
#[derive(Clone)]
struct Around {
    kind: Kind,
    place: Place,
    group: NodeId,
}

struct Walk<'a> {
    page: &'a Document,
    around: Around,
    links: usize,
    line: String,
    linked: usize,
    blocks: Vec<Block>,
}

impl<'a> Walk<'a> {
    fn new(page: &'a Document, root: NodeId) -> Self {
        let around = Around { kind: Kind::Paragraph, place: Place::default(), group: root };
        Self { page, around, links: 0, line: String::new(), linked: 0, blocks: Vec::new() }
    }

    fn enter(&mut self, node: NodeId, steps: &mut Vec<Step>) {
        if self.page.is_text(node) {
            return self.push(&self.page.text_content(node));
        }
        let tag = self.page.tag_name(node);
        match Role::of(tag) {
            _ if self.is_hidden(node, tag) => return,
            Role::Unseen => return,
            Role::Break => return self.line.push('\n'),
            Role::Link => {
                self.links += 1;
                steps.push(Step::LeaveLink);
            }
            Role::Inline => {}
            Role::Block => {
                self.flush();
                let inner = self.inside(node, tag);
                steps.push(Step::Leave(Box::new(std::mem::replace(&mut self.around, inner))));
            }
        }
        steps.extend(self.page.child_nodes(node).into_iter().rev().map(Step::Enter));
    }

    fn leave(&mut self, outer: Around) {
        self.flush();
        // What follows a paragraph within an item goes on under it.
        self.around = outer;
    }

    fn push(&mut self, text: &str) {
        let from = self.line.len();
        match self.around.kind {
            Kind::Verbatim => self.line.push_str(text),
            Kind::Heading | Kind::Paragraph | Kind::Item | Kind::Cell => {
                self.line.extend(text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }));
            }
        }
        if self.links > 0 {
            self.linked += self.line.get(from..).map_or(0, |new| key(new).len());
        }
    }

    /// Ends the block that is being gathered. Two line breaks in a row part paragraphs.
    fn flush(&mut self) {
        let (line, linked) = (std::mem::take(&mut self.line), std::mem::take(&mut self.linked));
        if self.around.kind == Kind::Verbatim {
            return self.add(prose::verbatim(&line), linked);
        }
        let whole = key(&line).len().max(1);
        for part in paragraphs(&line) {
            let text = prose::lines(&part);
            let share = linked * key(&text).len() / whole;
            self.add(text, share);
        }
    }

    fn add(&mut self, text: String, linked: usize) {
        let key = key(&text);
        if key.is_empty() {
            return;
        }
        let Around { kind, place, group } = self.around;
        self.blocks.push(Block { kind, text, key, linked, place, group });
    }

    fn inside(&self, node: NodeId, tag: &str) -> Around {
        let outer = &self.around;
        let (kind, group) = match tag {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => (Kind::Heading, node),
            "pre" | "listing" | "xmp" => (Kind::Verbatim, node),
            "li" | "dt" | "dd" | "summary" => (Kind::Item, outer.group),
            "td" | "th" => (Kind::Cell, outer.group),
            "ul" | "ol" | "dl" | "tr" | "table" => (Kind::Paragraph, node),
            _ => (if outer.kind == Kind::Verbatim { Kind::Paragraph } else { outer.kind }, node),
        };
        let group = if matches!(outer.kind, Kind::Item | Kind::Cell) && kind == outer.kind {
            outer.group
        } else {
            group
        };
        Around { kind, group, place: self.place(node, tag) }
    }

    fn place(&self, node: NodeId, tag: &str) -> Place {
        let mut place = self.around.place;
        if tag == "body" {
            return place;
        }
        let role = self.page.get_attribute(node, "role").unwrap_or_default();
        let names =
            format!("{} {}", self.page.class_name(node), self.page.id_attr(node)).to_ascii_lowercase();
        let called = |wanted: &[&str]| names.split_whitespace().any(|name| wanted.contains(&name));
        place.menu |= tag == "nav"
            || matches!(role.as_str(), "navigation" | "menu" | "menubar" | "search")
            || called(&["nav", "navbar", "navigation", "menu", "breadcrumb", "breadcrumbs"]);
        place.aside |= tag == "aside" || role == "complementary" || called(&["sidebar"]);
        place.footer |= tag == "footer" || role == "contentinfo" || called(&["footer"]);
        place.header |= tag == "header" || role == "banner";
        place.figure |= matches!(tag, "figure" | "figcaption") && !is_of_words(self.page, node);
        place.article |= matches!(tag, "article" | "main") || role == "main";
        place
    }

    /// Kept off the page by its markup. Whole pages are not: scripts show those once they run.
    fn is_hidden(&self, node: NodeId, tag: &str) -> bool {
        if matches!(tag, "html" | "body" | "main" | "article") {
            return false;
        }
        let attribute = |name| self.page.get_attribute(node, name);
        attribute("hidden").is_some_and(|hidden| hidden != "until-found")
            || attribute("aria-hidden").is_some_and(|hidden| hidden == "true")
            || attribute("style").is_some_and(|style| hides(&style))
    }
}

/// Whether a figure is a listing or a quotation.
pub fn is_of_words(page: &Document, figure: NodeId) -> bool {
    !page.iter_descendants(figure, &["pre", "blockquote"]).is_empty()
        && page.iter_descendants(figure, &["img", "picture", "video", "audio", "iframe", "object"]).is_empty()
}

/// A style that keeps an element off the page.
fn hides(style: &str) -> bool {
    let style: String = style.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    style.contains("display:none") || style.contains("visibility:hidden")
}

/// Parts of a line that stand between two or more breaks.
fn paragraphs(line: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut breaks = 0;
    for row in line.split('\n') {
        if row.trim().is_empty() {
            breaks += 1;
            continue;
        }
        match parts.last_mut() {
            Some(last) if breaks == 0 => {
                if !last.is_empty() {
                    last.push('\n');
                }
                last.push_str(row);
            }
            Some(_) | None => parts.push(row.to_owned()),
        }
        breaks = 0;
    }
    parts
}

/// What an element does to the flow of text.
enum Role {
    Unseen,
    Break,
    Link,
    Inline,
    Block,
}

impl Role {
    fn of(tag: &str) -> Self {
        match tag {
            "script" | "style" | "noscript" | "template" | "head" | "title" | "meta" | "link" | "svg"
            | "annotation" | "annotation-xml" | "iframe" | "object" | "embed" | "canvas" | "audio"
            | "video" | "map" | "select" | "datalist" | "button" | "input" | "textarea" | "noframes"
            | "progress" | "meter" | "rp" | "rt" | "dialog" => Self::Unseen,
            "br" => Self::Break,
            "a" => Self::Link,
            "span" | "b" | "strong" | "i" | "em" | "u" | "s" | "strike" | "del" | "ins" | "mark"
            | "small" | "big" | "sub" | "sup" | "code" | "kbd" | "samp" | "var" | "tt" | "q" | "cite"
            | "dfn" | "abbr" | "acronym" | "time" | "data" | "bdi" | "bdo" | "font" | "label" | "wbr"
            | "math" | "semantics" | "mrow" | "mi" | "mo" | "mn" | "mtext" | "msup" | "msub" | "msubsup"
            | "mfrac" | "msqrt" | "mstyle" | "img" | "picture" | "source" | "ruby" | "rb" | "nobr"
            | "output" | "slot" | "blink" => Self::Inline,
            _ => Self::Block,
        }
    }
}
