//! Selects the pictures of an article from those of its page.

use std::collections::HashSet;

use trafilatura::dom::{Document, NodeId};
use url::Url;

use super::blocks::Block;
use super::containers::path_from_root;
use super::links::{WEB_SCHEMES, resolve_url};
use super::plain_text::clean_line;
use super::walk::{self, Picture};
use super::{boilerplate, plain_text};

/// Maximum number of blocks, such as title and byline, between the opening picture of an article and its text.
const MAX_BLOCKS_BEFORE: usize = 6;
/// Pictures with a shorter side are icons, such as avatars and logos of networks.
const MIN_SIDE_PIXELS: u32 = 48;
/// Inline pictures with a side of at most this length are tracking pixels.
const MAX_DOT_PIXELS: u32 = 2;
/// Maximum length of captions and alternative texts, in characters.
const MAX_CAPTION_CHARS: usize = 1_000;
/// Maximum number of pictures of an article that are shown.
const MAX_PICTURES: usize = 500;
/// Maximum number of pictures that are considered; each looks at the elements around it.
const MAX_CANDIDATES: usize = 2_000;
/// Attributes with the URL of a picture, in order of preference: lazily loaded pictures have a placeholder in `src`.
const SOURCE_ATTRIBUTES: [&str; 5] = ["data-src", "data-lazy-src", "data-original", "data-hi-res-src", "src"];
const SOURCE_SET_ATTRIBUTES: [&str; 2] = ["srcset", "data-srcset"];
/// Maximum number of candidates of a `srcset` that are considered.
const MAX_OFFERS: usize = 30;

/// A picture of an article.
#[derive(Debug)]
pub struct ArticlePicture {
    /// Number of blocks of the page before it, which is its place among the blocks of the text.
    pub at: usize,
    /// Its `img` element on the page.
    pub element: NodeId,
    /// The URL and alternative text with which it is shown.
    pub source: PictureSource,
    /// Its caption, if it is not in the text.
    pub caption: Option<String>,
}

/// The URL and alternative text of a picture.
#[derive(Debug)]
pub struct PictureSource {
    /// Its absolute URL, `http` or `https`.
    pub url: String,
    /// Its alternative text in one line of at most 1,000 characters; empty if the page has none.
    pub alt: String,
}

/// Returns the pictures that belong to these blocks.
pub fn select_pictures(
    page: &Document,
    base: Option<&Url>,
    blocks: &[&Block],
    all: &[Picture],
) -> Vec<ArticlePicture> {
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Vec::new() };
    let chosen: HashSet<usize> = blocks.iter().map(|block| block.at).collect();
    let around = common(page, first.element, last.element);
    // A picture above the first block may open the article; between them are title and byline.
    let among = |picture: &&Picture| picture.at + MAX_BLOCKS_BEFORE >= first.at && picture.at <= last.at + 1;
    let beside = |at: Option<usize>| at.is_some_and(|at| chosen.contains(&at));
    let (mut sources, mut figures) = (HashSet::new(), HashSet::new());
    // A caption that is in the text is not repeated under its picture.
    figures.extend(blocks.iter().filter_map(|block| figure(page, block.element)));
    let mut shown = Vec::new();
    for picture in all.iter().filter(among).take(MAX_CANDIDATES) {
        let neighbours = [beside(picture.at.checked_sub(1)), beside(Some(picture.at))];
        if picture.at > first.at && neighbours == [false, false] || shown.len() >= MAX_PICTURES {
            continue;
        }
        // Without an address that can be fetched, such as a `data:` placeholder, there is nothing to show.
        let Some(source) = source(page, base, picture.element) else { continue };
        if !is_own(page, picture, &around, neighbours == [true, true]) || !sources.insert(source.url.clone())
        {
            continue;
        }
        // The caption of a figure with several pictures is shown once, under the first.
        let figure = figure(page, picture.element).filter(|figure| figures.insert(*figure));
        let caption = figure.and_then(|figure| caption(page, figure));
        shown.push(ArticlePicture { at: picture.at, element: picture.element, source, caption });
    }
    shown
}

/// Returns the common ancestors of two elements.
fn common(page: &Document, one: NodeId, other: NodeId) -> HashSet<NodeId> {
    let pairs = path_from_root(page, one).into_iter().zip(path_from_root(page, other));
    pairs.take_while(|(one, other)| one == other).map(|(one, _)| one).collect()
}

/// Returns the source of an inline picture, such as a formula.
pub fn inline_source(page: &Document, base: Option<&Url>, element: NodeId) -> Option<PictureSource> {
    // Formulas and emoji within a line may be smaller than an icon.
    let is_dot = sides(page, element).into_iter().flatten().any(|side| side <= MAX_DOT_PIXELS);
    if is_dot { None } else { source(page, base, element) }
}

/// Returns whether a picture belongs to the article: not in a menu or a box, not an icon, and a link to another page only if it is
/// between blocks of the article.
fn is_own(page: &Document, picture: &Picture, around: &HashSet<NodeId>, amid: bool) -> bool {
    let own = || walk::ancestors(page, picture.element).take_while(|node| !around.contains(node));
    // A picture that links to another page is a teaser; one that links to a larger picture is not.
    let is_teaser = |node| page.tag_name(node) == "a" && !leads_to_picture(page, node);
    let is_sign = sides(page, picture.element).into_iter().flatten().any(|side| side < MIN_SIDE_PIXELS);
    !picture.regions.is_frame()
        && !is_sign
        && !own().any(|node| {
            boilerplate::is_boilerplate(&boilerplate::class_and_id(page, node))
                || !amid && is_teaser(node) && figure(page, node).is_none()
        })
}

fn leads_to_picture(page: &Document, link: NodeId) -> bool {
    let href = page.get_attribute(link, "href").unwrap_or_default().to_ascii_lowercase();
    let path = href.split(['?', '#']).next().unwrap_or_default();
    [".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".svg"].iter().any(|ending| path.ends_with(ending))
}

fn sides(page: &Document, element: NodeId) -> [Option<u32>; 2] {
    ["width", "height"]
        .map(|side| page.get_attribute(element, side)?.trim().trim_end_matches("px").parse().ok())
}

fn source(page: &Document, base: Option<&Url>, element: NodeId) -> Option<PictureSource> {
    let stated = |element: NodeId, names: &[&str]| -> Vec<String> {
        names.iter().filter_map(|name| page.get_attribute(element, name)).collect()
    };
    let sets =
        |element: NodeId| stated(element, &SOURCE_SET_ATTRIBUTES).into_iter().filter_map(|set| largest(&set));
    let around = page.parent(element).filter(|around| page.tag_name(*around) == "picture");
    let offered = around.map(|around| page.children(around)).unwrap_or_default().into_iter();
    let offered = offered.filter(|offer| page.tag_name(*offer) == "source").take(MAX_OFFERS);
    let all =
        stated(element, &SOURCE_ATTRIBUTES).into_iter().chain(sets(element)).chain(offered.flat_map(sets));
    let mut all = all.filter(|address| !address.trim().is_empty());
    let url = all.find_map(|stated| resolve_url(base, &stated, &WEB_SCHEMES))?;
    let alt = page.get_attribute(element, "alt").unwrap_or_default();
    Some(PictureSource {
        url,
        alt: plain_text::truncate(&plain_text::normalize_line(&alt), MAX_CAPTION_CHARS),
    })
}

/// Returns the largest picture of a `srcset`, by width or density.
fn largest(set: &str) -> Option<String> {
    // Split at a comma with a space: URLs may contain commas.
    let offers = set.split(", ").take(MAX_OFFERS).filter_map(|offer| {
        let mut words = offer.split_whitespace();
        let (address, size) = (words.next()?, words.next().unwrap_or("1x"));
        Some((
            address.trim_end_matches(','),
            size.trim_end_matches(['w', 'x', ',']).parse::<f64>().unwrap_or(1.0),
        ))
    });
    offers.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(address, _)| address.to_owned())
}

fn figure(page: &Document, element: NodeId) -> Option<NodeId> {
    // Bounded: this runs for each picture and block, and a page may be 512 elements deep.
    walk::ancestors(page, element).take(6).find(|node| page.tag_name(*node) == "figure")
}

fn caption(page: &Document, figure: NodeId) -> Option<String> {
    let caption = page.iter_descendants(figure, &["figcaption"]).into_iter().next()?;
    clean_line(&page.text_content(caption), MAX_CAPTION_CHARS)
}
