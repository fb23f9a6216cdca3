//! Extracts the names of authors from bylines.

use super::{
    blocks::key,
    plain_text::{MAX_NAME_CHARS, clean_line},
};

/// Prefixes of names in bylines.
const PREFIXES: [&str; 7] = ["view all posts by", "posts by", "written by", "by", "von", "par", "por"];

/// Returns all names, each once, separated by `; `. `site` are the keys of the names of the site, which are not authors.
pub fn join_names<'a>(lines: impl Iterator<Item = &'a str>, site: &[String]) -> Option<String> {
    let mut kept: Vec<String> = Vec::new();
    for text in lines.filter_map(|text| clean_line(text, MAX_NAME_CHARS)).filter(|text| is_name(text)) {
        let name = without_prefix(&text);
        // Templates without a byline state the site as the author.
        let is_site = site.iter().any(|site| site.eq_ignore_ascii_case(&key(name)));
        if !is_site && !kept.iter().any(|known| known == name) {
            kept.push(name.to_owned());
        }
    }
    clean_line(&kept.join("; "), MAX_NAME_CHARS)
}

fn without_prefix(text: &str) -> &str {
    let behind = |before: &&str| {
        let (head, rest) = text.split_at_checked(before.len())?;
        // A prefix must be followed by a space or a colon: `Byron` does not begin with `by`.
        head.eq_ignore_ascii_case(before).then(|| rest.strip_prefix([' ', ':']))?
    };
    PREFIXES.iter().find_map(behind).map_or(text, str::trim)
}

/// Returns whether a text is a name, rather than a URL, an e-mail address or an unfilled template.
fn is_name(text: &str) -> bool {
    !(text.contains("://") || text.contains("www.") || text.contains(['@', '{', '}', '<', '>']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(lines: &[&str]) -> Option<String> {
        join_names(lines.iter().copied(), &[key("The Review"), key("review.org")])
    }

    #[test]
    fn names_are_listed_once_without_prefixes() {
        assert_eq!(
            joined(&["By Ada Writer", "Perry Bacon Jr.", "Ada  Writer"]).as_deref(),
            Some("Ada Writer; Perry Bacon Jr.")
        );
        assert_eq!(joined(&["View all posts by Jo", "Byron Hale"]).as_deref(), Some("Jo; Byron Hale"));
    }

    #[test]
    fn urls_and_the_site_name_are_not_authors() {
        assert_eq!(
            joined(&["https://facebook.com/ada", "a@b.org", "{{author}}", "The Review", "review.org", " "]),
            None
        );
    }
}
