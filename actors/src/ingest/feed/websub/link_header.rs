//! The hub and the topic that `Link` headers name.

use parse::feed::Feed;
use web::PageUrl;

/// Replaces the feed's hub and topic by those of the response's `Link` headers, which take precedence (WebSub, section 4).
pub fn apply(feed: &mut Feed, headers: &[String], base: &PageUrl) {
    let find = |rel: &str| {
        let all = headers.iter().flat_map(|header| parse_links(header));
        let mut matching = all.filter(|(_, rels)| rels.iter().any(|other| other.eq_ignore_ascii_case(rel)));
        matching.find_map(|(target, _)| Some(base.join(&target).ok()?.as_str().to_owned()))
    };
    if let Some(hub) = find("hub") {
        feed.hub = Some(hub);
    }
    if let Some(own) = find("self") {
        feed.own = Some(own);
    }
}

/// Parses the links of a header with their relations (RFC 8288, section 3). Malformed ones are skipped.
fn parse_links(header: &str) -> Vec<(String, Vec<String>)> {
    let links = header.split(unquoted(','));
    links
        .filter_map(|link| {
            let mut parts = link.split(unquoted(';')).map(str::trim);
            let target = parts.next()?.strip_prefix('<')?.strip_suffix('>')?.trim();
            let rels = parts.find_map(|parameter| {
                let (name, value) = parameter.split_once('=')?;
                name.trim().eq_ignore_ascii_case("rel").then(|| value.trim().trim_matches('"'))
            });
            let rels = rels.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect();
            Some((target.to_owned(), rels))
        })
        .collect()
}

/// Returns a pattern that matches this separator outside of `<...>` and quotes.
fn unquoted(separator: char) -> impl FnMut(char) -> bool {
    let mut until = None;
    move |c| {
        match (until, c) {
            (None, '<') => until = Some('>'),
            (None, '"') => until = Some('"'),
            (None, _) => return c == separator,
            (Some(end), _) if c == end => until = None,
            (Some(_), _) => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub_and_topic(headers: &[&str]) -> (Option<String>, Option<String>) {
        let mut feed = Feed { hub: Some("https://own.example/hub".to_owned()), ..Feed::default() };
        let base = PageUrl::parse("https://a.example/feeds/all").unwrap();
        let headers: Vec<String> = headers.iter().map(|header| (*header).to_owned()).collect();
        apply(&mut feed, &headers, &base);
        (feed.hub, feed.own)
    }

    #[test]
    fn link_headers_take_precedence_over_the_feed() {
        let (hub, own) =
            (Some("https://h.example/".to_owned()), Some("https://a.example/feeds/x".to_owned()));
        for headers in [
            &["<https://h.example/>; rel=\"hub\", <x>; rel=self"][..],
            &[
                "<https://h.example/>;title=\"a, <b>; rel=self\";REL=\"other HUB\"",
                "</feeds/x>; rel=\"self\"",
            ],
        ] {
            assert_eq!(hub_and_topic(headers), (hub.clone(), own.clone()), "{headers:?}");
        }
        for headers in [&[][..], &["<https://h.example/>; rel=next"], &["<https://h.example/"], &["rel=hub"]]
        {
            let expected = (Some("https://own.example/hub".to_owned()), None);
            assert_eq!(hub_and_topic(headers), expected, "{headers:?}");
        }
    }
}
