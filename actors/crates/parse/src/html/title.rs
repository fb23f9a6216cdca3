//! Removes the name of the site from the title of a page.

use super::blocks::key;

/// Separators between the parts of a title, with a space on each side.
const SEPARATORS: [&str; 12] =
    [" | ", " - ", " – ", " — ", " · ", " • ", " » ", " :: ", " // ", " ~ ", " < ", " : "];
/// Separators at which a title is split into what may be the names of its page and its site.
const SITE_SEPARATORS: [&str; 6] = [" | ", " - ", " – ", " — ", " · ", " :: "];
/// Minimum length of a headline by which the title is cut.
const MIN_HEADLINE_CHARS: usize = 10;
/// Minimum length of a name that is compared as a part of another.
const MIN_NAME_BYTES: usize = 4;

/// Returns the title without the name of the site. `headlines` are the level-1 headings of the page: if the title begins with one,
/// that headline is the title.
pub fn without_site(
    title: &str,
    headlines: &[String],
    site_name: Option<&str>,
    host: Option<&str>,
) -> String {
    let names: Vec<String> = site_name
        .into_iter()
        .chain(host.into_iter().flat_map(labels))
        .map(|name| key(name).to_lowercase())
        .collect();
    let whole = key(title).to_lowercase();
    let begins = |headline: &&String| {
        let headline = key(headline).to_lowercase();
        headline.chars().count() >= MIN_HEADLINE_CHARS
            && whole.starts_with(&headline)
            && !names.contains(&headline)
    };
    // The headline comes first: a title may contain separators that do not precede the name of the site.
    if let Some(headline) = headlines.iter().find(begins) {
        return headline.clone();
    }
    let mut rest = title;
    while let Some(shorter) = without_one(rest, &names) {
        rest = shorter;
    }
    rest.trim().to_owned()
}

/// Returns the keys of a title, and of its parts if it contains the name of the site.
pub(super) fn names_of(title: &str) -> Vec<String> {
    let parts = SITE_SEPARATORS.iter().flat_map(|between| title.split(between));
    let names = std::iter::once(title).chain(parts).map(|name| key(name).to_lowercase());
    names.filter(|name| !name.is_empty()).collect()
}

/// Returns the labels of a host that may be the name of the site: not `www`, not the top-level domain.
fn labels(host: &str) -> impl Iterator<Item = &str> {
    let labels: Vec<&str> = host.split('.').collect();
    let inner = labels.len().saturating_sub(1);
    labels.into_iter().take(inner).filter(|label| label.len() >= MIN_NAME_BYTES).chain([host])
}

fn without_one<'a>(title: &'a str, names: &[String]) -> Option<&'a str> {
    let is_site = |part: &str| {
        let part = key(part).to_lowercase();
        part.chars().count() >= 2 && names.iter().any(|name| is_same(&part, name))
    };
    // The shortest part at either end, whichever separator is before it.
    let last =
        SEPARATORS.iter().filter_map(|between| title.rsplit_once(between)).min_by_key(|(_, tail)| tail.len());
    let first =
        SEPARATORS.iter().filter_map(|between| title.split_once(between)).min_by_key(|(head, _)| head.len());
    match (last, first) {
        (Some((head, tail)), _) if is_site(tail) => Some(head),
        (_, Some((head, tail))) if is_site(head) => Some(tail),
        (Some(_) | None, Some(_) | None) => None,
    }
}

/// Returns whether one name contains the other, such as `Harper's Magazine` and `harpers`.
fn is_same(part: &str, name: &str) -> bool {
    // A part that contains the name but is much longer is a phrase about the site, not its name.
    part == name
        || name.len() >= MIN_NAME_BYTES && part.contains(name) && part.len() <= name.len() * 3
        || part.len() >= MIN_NAME_BYTES && name.contains(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(title: &str, site: Option<&str>) -> String {
        without_site(title, &[], site, Some("www.harpers.org"))
    }

    #[test]
    fn site_name_is_removed_from_both_ends() {
        assert_eq!(title("A Letter on Justice | Harper's Magazine", None), "A Letter on Justice");
        assert_eq!(title("The Review - Herons - and more", Some("The Review")), "Herons - and more");
        assert_eq!(title("Herons - News | Harpers", Some("Harpers")), "Herons - News");
    }

    #[test]
    fn other_parts_of_a_title_are_kept() {
        assert_eq!(title("Murdered - Melas - A tale", None), "Murdered - Melas - A tale");
        assert_eq!(title("Harpers", None), "Harpers");
    }

    #[test]
    fn headline_at_the_start_of_the_title_is_the_title() {
        let headlines = ["Herons wait for fish".to_owned()];

        assert_eq!(
            without_site("Herons wait for fish – Nature, Birds :: Site", &headlines, None, None),
            "Herons wait for fish"
        );
    }
}
