//! Extracts the article of a web page: plain text in reading order, and metadata.
//!
//! Pure functions of the page, in this order: [`guard`] checks the markup before a tree is built from it; [`extractor`] asks an
//! extractor for the article; [`walk`] reads the page from top to bottom into blocks; [`selection`] finds the extraction among
//! the blocks and corrects it by rules; [`rendition`] writes the selected blocks as text and as HTML; [`metadata`] reads title,
//! author and the like.

mod align;
mod article;
mod article_error;
mod author_names;
mod blocks;
mod boilerplate;
mod containers;
pub mod display;
mod extractor;
mod guard;
mod inline;
mod inline_marks;
mod json_ld;
mod links;
mod meta_tags;
mod metadata;
mod page_links;
mod pictures;
mod plain_text;
mod removal;
mod rendition;
mod restoration;
mod sanitize;
mod selection;
#[cfg(test)]
mod tests;
mod timestamp;
mod title;
mod walk;
#[cfg(test)]
mod xss_tests;

use trafilatura::dom::Document;
use url::Url;

use self::blocks::Block;
use self::extractor::Extraction;
use self::walk::PageContent;

pub use article::Article;
pub use article_error::ArticleError;
pub(crate) use guard::has_attribute_flood;
pub(crate) use plain_text::{MAX_NAME_CHARS, clean_line, normalize_verbatim, truncate};
pub use rendition::Heading;
pub(crate) use rendition::{MAX_HEADINGS, Rendition};
pub(crate) use sanitize::sanitize_for_text;
pub(crate) use timestamp::with_offset_colon;

/// Reads the article of a page. Links are resolved against `url`. If `user_title`, the title that the user gave the page, differs
/// from the title of the page, the headline is kept in the text.
///
/// # Errors
/// An [`ArticleError`] if the markup is not built into a tree, if the page has nothing to keep, or if it says that it does not exist.
pub fn read_article(html: &str, url: &str, user_title: Option<&str>) -> Result<Article, ArticleError> {
    // Before anything is built: the parser itself takes quadratic time for deep markup.
    let extent = guard::check(html)?;
    let page = Document::parse(html);
    // A page that is too large for the extractor is still read by its blocks.
    let extraction = if extent.is_ordinary() { extractor::extract(&page, url) } else { None };
    let article =
        metadata::collect_article(&page, url, extraction.as_ref().map(|extraction| &extraction.metadata));
    let Rendition { text, html, outline } =
        select_rendition(&page, Url::parse(url).ok().as_ref(), extraction.as_ref(), &article, user_title);
    if article.title.as_deref().is_some_and(|title| boilerplate::is_error_page(title, &text)) {
        return Err(ArticleError::NotFound);
    }
    // A notice that takes the place of the page is not its text.
    let (text, html, outline) =
        if boilerplate::is_script_wall(&text) { Default::default() } else { (text, html, outline) };
    match article.title.as_ref().or(article.moved_to.as_ref()) {
        // A page with a title or a redirect is a result without text: the title is worth keeping,
        // and the redirect is followed.
        None if text.is_empty() => Err(ArticleError::NoText),
        Some(_) | None => Ok(Article { text, html, outline, ..article }),
    }
}

/// Returns whether a tree may be built from this markup: it is nested no deeper than an honest page.
pub(crate) fn is_buildable(html: &str) -> bool {
    guard::check(html).is_ok()
}

/// Renders all of a piece of markup, as that of a feed's entry, which is content only. Links are resolved against `url`. Markup
/// without words is an empty text.
///
/// # Errors
/// [`ArticleError`], if the markup is nested too deeply or has too many attributes.
pub(crate) fn render_all(html: &str, url: Option<&Url>) -> Result<Rendition, ArticleError> {
    guard::check(html)?;
    let page = Document::parse(html);
    let PageContent { blocks, pictures } = walk_body(&page);
    Ok(rendition::render(&page, url, &blocks.iter().collect::<Vec<_>>(), &pictures))
}

fn walk_body(page: &Document) -> PageContent {
    walk::walk(page, page.body().unwrap_or_else(|| page.root()))
}

/// Renders the selected blocks; if they have no text, the extraction, then the page without its frame, then the whole page.
fn select_rendition(
    page: &Document,
    url: Option<&Url>,
    extraction: Option<&Extraction>,
    article: &Article,
    user_title: Option<&str>,
) -> Rendition {
    let PageContent { blocks: all, pictures } = walk_body(page);
    let title = article.title.as_deref().unwrap_or_default();
    let hints = selection::Hints {
        title,
        shown: user_title.unwrap_or(title),
        description: article.description.as_deref().unwrap_or_default(),
        author: article.author.as_deref().unwrap_or_default(),
    };
    let drafted = extraction.map(|extraction| extraction.content.blocks.as_slice()).unwrap_or_default();
    let chosen = selection::select_blocks(page, &all, drafted, &hints);
    let render = |blocks: Vec<&Block>| rendition::render(page, url, &blocks, &pictures);
    // Closures, so that a rendition is only made if those before it are empty.
    let sources: [&dyn Fn() -> Rendition; 4] = [
        &|| render(chosen.iter().flatten().collect()),
        &|| extraction.map(|extraction| extraction.rendition(url)).unwrap_or_default(),
        &|| render(all.iter().filter(|block| !block.regions.is_frame()).collect()),
        &|| render(all.iter().collect()),
    ];
    sources.into_iter().map(|source| source()).find(|found| !found.text.is_empty()).unwrap_or_default()
}
