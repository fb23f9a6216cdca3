//! A web page becomes an article: plain text in reading order, and what the page says about itself.
//!
//! Pure functions of the page, in this order: [`guard`] looks at the markup before anything is built from
//! it; [`draft`] lets an extractor choose; [`walk`] reads the page from top to bottom; [`choose`] brings the two together
//! and mends the choice by rules; [`rendition`] writes down what was chosen, as text and as HTML; [`facts`] reads title, author and
//! the like.

mod add;
mod align;
mod blocks;
mod choose;
mod draft;
mod facts;
mod frame;
mod guard;
mod heads;
mod inline;
mod instant;
mod json_ld;
mod markup;
mod names;
#[cfg(test)]
mod payloads;
mod pictures;
mod prose;
mod rendition;
mod safe;
mod signs;
#[cfg(test)]
mod tests;
mod title;
mod trim;
mod walk;

use serde::{Deserialize, Serialize};
use trafilatura::dom::Document;
use url::Url;

use self::blocks::Block;
use self::draft::Draft;
use self::walk::Walked;

pub(crate) use facts::{NAME, line};
pub(crate) use guard::floods_a_tokenizer;
pub(crate) use instant::with_colon;
pub(crate) use prose::{cut, verbatim};
pub use rendition::Heading;
pub(crate) use rendition::{MOST_HEADINGS, Rendition};
pub(crate) use safe::given as safe;

/// What a page holds for its reader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Article {
    /// The title, without the site's name; at most 300 characters.
    pub title: Option<String>,
    /// Who wrote it, names parted by `; `; at most 300 characters.
    pub author: Option<String>,
    /// The site's name; at most 300 characters.
    pub site_name: Option<String>,
    /// When it was published: a date, or a time with its offset, as in RFC 3339.
    pub published_at: Option<String>,
    /// What the page says of itself in a few lines; at most 2,000 characters.
    pub description: Option<String>,
    /// The address of the picture that stands for the page, `http` or `https`.
    pub image_url: Option<String>,
    /// The language's code, such as `en` or `pt`.
    pub language: Option<String>,
    /// The address by which the page wants to be known, `http` or `https`.
    pub canonical_url: Option<String>,
    /// Where it sends its readers on to, `http` or `https`.
    pub moved_to: Option<String>,
    /// The headings of the text.
    pub outline: Vec<Heading>,
    /// Plain text in NFC, empty only where there is a title or another page: paragraphs and headings with an empty line
    /// between them, an item of a list or a row of a table a line.
    #[serde(skip)]
    pub text: String,
    /// The same words as HTML that is safe to show: see [`rendition`].
    #[serde(skip)]
    pub html: Option<String>,
}

/// Why a page has no article.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Unreadable {
    /// There is not a word on it.
    #[error("the page has no text")]
    NoText,
    /// It says in words what its server does not say by its status.
    #[error("the page says that it is not there")]
    NotThere,
    /// Elements within elements, past what any browser shows.
    #[error("the page nests its elements too deeply")]
    TooDeep,
    /// One tag with hundreds of attributes.
    #[error("a tag of the page has too many attributes")]
    TooManyAttributes,
}

/// Reads a page. `url` is where it came from, `called` what its person calls it, where that is another name than its own: then
/// its own stays in the text.
///
/// # Errors
/// See [`Unreadable`].
pub fn read(html: &str, url: &str, called: Option<&str>) -> Result<Article, Unreadable> {
    let extent = guard::check(html)?;
    let page = Document::parse(html);
    let draft = if extent.is_ordinary() { draft::draft(&page, url) } else { None };
    let article = facts::read(&page, url, draft.as_ref().map(|draft| &draft.metadata));
    let Rendition { text, html, outline } =
        chosen(&page, Url::parse(url).ok().as_ref(), draft.as_ref(), &article, called);
    if article.title.as_deref().is_some_and(|title| signs::says_it_is_gone(title, &text)) {
        return Err(Unreadable::NotThere);
    }
    // What stands there in place of the page is no text of it.
    let (text, html, outline) =
        if signs::asks_for_script(&text) { Default::default() } else { (text, html, outline) };
    match article.title.as_ref().or(article.moved_to.as_ref()) {
        None if text.is_empty() => Err(Unreadable::NoText),
        Some(_) | None => Ok(Article { text, html, outline, ..article }),
    }
}

/// Whether an honest page can look so: a tree may be built of it.
pub(crate) fn is_buildable(html: &str) -> bool {
    guard::check(html).is_ok()
}

/// All of a piece of markup, nothing left out: what a feed gives is the content itself. `url` is where it stands.
///
/// # Errors
/// As [`read`]; markup without a word is an empty text.
pub(crate) fn whole(html: &str, url: Option<&Url>) -> Result<Rendition, Unreadable> {
    guard::check(html)?;
    let page = Document::parse(html);
    let Walked { blocks, pictures } = body(&page);
    Ok(rendition::of(&page, url, &blocks.iter().collect::<Vec<_>>(), &pictures))
}

fn body(page: &Document) -> Walked {
    walk::walk(page, page.body().unwrap_or_else(|| page.root()))
}

/// The article, from the best source there is.
fn chosen(
    page: &Document,
    url: Option<&Url>,
    draft: Option<&Draft>,
    article: &Article,
    called: Option<&str>,
) -> Rendition {
    let Walked { blocks: all, pictures } = body(page);
    let title = article.title.as_deref().unwrap_or_default();
    let hints = choose::Hints {
        title,
        shown: called.unwrap_or(title),
        description: article.description.as_deref().unwrap_or_default(),
        author: article.author.as_deref().unwrap_or_default(),
    };
    let drafted = draft.map(|draft| draft.found.blocks.as_slice()).unwrap_or_default();
    let chosen = choose::article(page, &all, drafted, &hints);
    let render = |blocks: Vec<&Block>| rendition::of(page, url, &blocks, &pictures);
    let sources: [&dyn Fn() -> Rendition; 4] = [
        &|| render(chosen.iter().flatten().collect()),
        &|| draft.map(|draft| draft.rendition(url)).unwrap_or_default(),
        &|| render(all.iter().filter(|block| !block.place.is_frame()).collect()),
        &|| render(all.iter().collect()),
    ];
    sources.into_iter().map(|source| source()).find(|found| !found.text.is_empty()).unwrap_or_default()
}
