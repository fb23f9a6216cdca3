//! Reads the metadata of a page: title, author, date, picture, language, URLs.
//!
//! Sources in this order: JSON-LD, `meta` elements, other elements of the page, the extractor.

use trafilatura::{Metadata, dom::Document};
use url::Url;

use super::{
    article::Article,
    author_names::join_names,
    blocks,
    json_ld::{self, JsonLdArticle},
    links::{self, WEB_SCHEMES},
    meta_tags::MetaTags,
    plain_text::{MAX_NAME_CHARS, clean_line},
    timestamp::parse_timestamp,
    title,
};

/// The part of a title that is searched for the name of the site, in characters.
const MAX_TITLE_INPUT_CHARS: usize = 1_000;
/// The longest description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// A refresh after at most this many seconds is a redirect.
const MAX_REFRESH_SECONDS: f64 = 5.0;

/// Reads everything about the page except its text.
pub fn collect_article(page: &Document, url: &str, found: Option<&Metadata>) -> Article {
    let sources = MetadataSources {
        page,
        base: Url::parse(url).ok(),
        meta_tags: MetaTags::from_page(page),
        json_ld: json_ld::read_json_ld(page),
        found,
    };
    let site_name = sources.site_name();
    Article {
        title: sources.title(site_name.as_deref()),
        author: sources.author(site_name.as_deref()),
        published_at: sources.published_at(),
        description: sources.description(),
        image_url: sources.image_url(),
        language: sources.language(),
        canonical_url: sources.canonical_url(),
        moved_to: sources.moved_to(),
        site_name,
        text: String::new(),
        html: None,
        outline: Vec::new(),
    }
}

struct MetadataSources<'a> {
    page: &'a Document,
    base: Option<Url>,
    meta_tags: MetaTags,
    json_ld: JsonLdArticle,
    found: Option<&'a Metadata>,
}

impl MetadataSources<'_> {
    fn site_name(&self) -> Option<String> {
        // The extractor uses the host of any URL that the page declares.
        let found = self.found.map(|found| found.sitename.as_str()).filter(|name| !self.is_other_host(name));
        let names = [
            self.meta_tags.first(&["og:site_name"]),
            self.json_ld.publisher.as_deref(),
            self.meta_tags.first(&["application-name"]),
            found,
        ];
        names
            .into_iter()
            .flatten()
            .find_map(|name| clean_line(name, MAX_NAME_CHARS))
            .filter(|name| !name.contains("://"))
    }

    fn is_other_host(&self, name: &str) -> bool {
        let own = self.base.as_ref().and_then(Url::host_str).unwrap_or_default();
        let plain = |host: &str| host.trim_start_matches("www.").to_lowercase();
        name.contains('.') && !name.contains(char::is_whitespace) && plain(name) != plain(own)
    }

    fn title(&self, site_name: Option<&str>) -> Option<String> {
        let stated = self.meta_tags.first(&["og:title", "twitter:title", "dc.title", "citation_title"]);
        let tag = self.text_of("title").into_iter().next();
        let headlines = self.text_of("h1");
        let host = self.base.as_ref().and_then(Url::host_str);
        let titles = [stated, self.json_ld.headline.as_deref(), tag.as_deref()].into_iter().flatten();
        let stated = titles.into_iter().find_map(|title| clean_line(title, MAX_TITLE_INPUT_CHARS));
        let title = match stated {
            Some(stated) => title::without_site(&stated, &headlines, site_name, host),
            None => headlines.into_iter().next()?,
        };
        clean_line(&title, MAX_NAME_CHARS)
    }

    fn text_of(&self, tag: &str) -> Vec<String> {
        let elements = self.page.get_elements_by_tag_name(self.page.root(), tag);
        elements
            .into_iter()
            .filter_map(|element| clean_line(&self.page.text_content(element), MAX_TITLE_INPUT_CHARS))
            .collect()
    }

    fn author(&self, site_name: Option<&str>) -> Option<String> {
        // The site is not an author, although many templates state its name or host as one.
        let host = self.base.as_ref().and_then(Url::host_str).map(|host| host.trim_start_matches("www."));
        let site: Vec<String> = [site_name, host].into_iter().flatten().map(blocks::key).collect();
        let in_json_ld = self.json_ld.authors.iter().map(String::as_str);
        let stated = self.meta_tags.all(&[
            "author",
            "article:author",
            "citation_author",
            "dc.creator",
            "parsely-author",
            "byl",
        ]);
        join_names(in_json_ld, &site)
            .or_else(|| join_names(stated, &site))
            .or_else(|| join_names(self.found.map(|found| found.author.as_str()).into_iter(), &site))
    }

    fn published_at(&self) -> Option<String> {
        let names = [
            "article:published_time",
            "datepublished",
            "date",
            "dc.date",
            "citation_publication_date",
            "parsely-pub-date",
        ];
        let stated = [self.json_ld.published.as_deref(), self.meta_tags.first(&names)]
            .into_iter()
            .flatten()
            .find_map(parse_timestamp);
        let found = self.found.and_then(|found| found.date).map(|date| date.to_string());
        stated.or(found)
    }

    fn description(&self) -> Option<String> {
        let stated =
            self.meta_tags.first(&["description", "og:description", "twitter:description", "dc.description"]);
        let found = self.found.map(|found| found.description.as_str());
        [stated, self.json_ld.description.as_deref(), found]
            .into_iter()
            .flatten()
            .find_map(|text| clean_line(text, MAX_DESCRIPTION_CHARS))
    }

    fn image_url(&self) -> Option<String> {
        let stated = self.meta_tags.first(&[
            "og:image:secure_url",
            "og:image",
            "og:image:url",
            "twitter:image",
            "twitter:image:src",
        ]);
        [stated, self.json_ld.image.as_deref()]
            .into_iter()
            .flatten()
            .find_map(|image| self.resolve_url(image))
    }

    fn language(&self) -> Option<String> {
        let html = self.page.get_elements_by_tag_name(self.page.root(), "html").into_iter().next();
        let declared = html.and_then(|html| self.page.get_attribute(html, "lang"));
        let stated = self.meta_tags.first(&["content-language", "og:locale", "dc.language"]);
        let found = self.found.map(|found| found.language.as_str());
        [declared.as_deref(), self.json_ld.language.as_deref(), stated, found]
            .into_iter()
            .flatten()
            .find_map(language_code)
    }

    fn canonical_url(&self) -> Option<String> {
        let canonical =
            self.resolve_url(self.meta_tags.canonical.as_deref().or(self.meta_tags.first(&["og:url"]))?)?;
        // Some templates declare the front page as the canonical URL of every page.
        let is_front = |url: &Url| url.path() == "/" && url.query().is_none();
        let mistaken = Url::parse(&canonical).ok().is_some_and(|url| is_front(&url))
            && !self.base.as_ref().is_some_and(is_front);
        (!mistaken).then_some(canonical)
    }

    /// Returns the target of `http-equiv="refresh"` (HTML, 4.2.5.3).
    fn moved_to(&self) -> Option<String> {
        let (wait, target) = self.meta_tags.first(&["refresh"])?.split_once([';', ','])?;
        // A later refresh reloads a live page or leads on after reading; only an immediate one is a redirect.
        let is_immediate =
            wait.trim().parse::<f64>().is_ok_and(|seconds| (0.0..=MAX_REFRESH_SECONDS).contains(&seconds));
        let target = target.trim();
        let named = target.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("url"));
        let target = named.map_or(target, |(_, target)| target.trim()).trim_matches(['"', '\'']);
        let url = self.resolve_url(target)?;
        // A page that refreshes itself has not moved.
        (is_immediate && self.base.as_ref().is_none_or(|here| here.as_str() != url)).then_some(url)
    }

    fn resolve_url(&self, stated: &str) -> Option<String> {
        let stated = Some(stated).filter(|stated| !stated.trim().is_empty())?;
        links::resolve_url(self.base.as_ref(), stated, &WEB_SCHEMES)
    }
}

/// Returns the primary language subtag (BCP 47).
fn language_code(tag: &str) -> Option<String> {
    // `og:locale` writes an underscore, as in `en_GB`.
    let code = tag.trim().split(['-', '_']).next()?.to_ascii_lowercase();
    let fits = matches!(code.len(), 2 | 3) && code.bytes().all(|byte| byte.is_ascii_lowercase());
    fits.then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata_of(head: &str) -> Article {
        collect_article(
            &Document::parse(&format!("<html lang=\"en-GB\"><head>{head}</head></html>")),
            "https://example.org/a/b",
            None,
        )
    }

    #[test]
    fn meta_refresh_target_is_read() {
        let moved =
            |content: &str| metadata_of(&format!("<meta http-equiv=Refresh content=\"{content}\">")).moved_to;

        for content in ["0; url=/new", "0;URL='/new'", "1.5, /new", " 0 ; Url = https://example.org/new "] {
            assert_eq!(moved(content).as_deref(), Some("https://example.org/new"), "{content}");
        }
        for content in ["30; url=/new", "0", "0; url=/a/b", "0; url=javascript:x()", "x; url=/new"] {
            assert_eq!(moved(content), None, "{content}");
        }
    }

    #[test]
    fn page_without_metadata_has_none() {
        assert_eq!(metadata_of(""), Article { language: Some("en".to_owned()), ..Article::default() });
    }

    #[test]
    fn stated_title_overrides_the_title_element() {
        let page = metadata_of(
            "<title>Herons wait | The Review</title><meta property=\"og:title\" content=\" Herons\n wait \">",
        );

        assert_eq!(page.title.as_deref(), Some("Herons wait"));
    }

    #[test]
    fn site_name_is_removed_from_the_title() {
        let page = metadata_of(
            "<title>Herons wait - The Review</title><meta property=\"og:site_name\" content=\"The Review\">",
        );

        assert_eq!(page.title.as_deref(), Some("Herons wait"));
        assert_eq!(page.site_name.as_deref(), Some("The Review"));
    }

    #[test]
    fn authors_are_read_from_json_ld_first() {
        let page = metadata_of(concat!(
            "<meta name=author content=Webmaster><script type=\"application/ld+json\">",
            r#"{"@type": "Article", "author": [{"name": "Perry Bacon Jr."}, {"name": "By Ada Writer"}]}</script>"#
        ));

        assert_eq!(page.author.as_deref(), Some("Perry Bacon Jr.; Ada Writer"));
    }

    #[test]
    fn url_is_not_an_author() {
        let page = metadata_of(
            "<meta property=\"article:author\" content=\"https://facebook.com/ada\"><meta name=author content=Ada>",
        );

        assert_eq!(page.author.as_deref(), Some("Ada"));
    }

    #[test]
    fn urls_are_resolved_and_limited_to_http() {
        let page = metadata_of(
            "<link rel=canonical href=\"/c\"><meta property=\"og:image\" content=\"javascript:alert(1)\">",
        );

        assert_eq!(page.canonical_url.as_deref(), Some("https://example.org/c"));
        assert_eq!(page.image_url, None);
    }

    #[test]
    fn canonical_url_of_the_front_page_is_ignored() {
        assert_eq!(metadata_of("<link rel=canonical href=\"https://example.org/\">").canonical_url, None);
    }

    #[test]
    fn long_lines_are_cut() {
        let page = metadata_of(&format!("<title>{}</title>", "word ".repeat(1_000)));

        assert!(page.title.unwrap().chars().count() <= MAX_NAME_CHARS);
    }
}
