//! Recognises boilerplate by words: classes and ids of elements, and labels above lists of other pages.
//!
//! Class names are English almost everywhere; labels are listed in the languages of the pages that were measured. The entries of each list
//! are separated by commas.

use trafilatura::dom::{Document, NodeId};

const BOILERPLATE_PARTS: &str = "newsletter, related, recommend, share, sharing, social, disclosure, disclaimer, subscri, signup, \
    sign-up, breadcrumb, widget, sidebar, advert, promo, sponsor, authorbio, author-bio, author_bio, author-box, \
    author-info, about-author, about-the-author, comment, followus, follow-us, siguenos, trust-badge, paywall, readmore, \
    read-more, more-on, more-from, also-read, also-like, teaser-list, popular, trending, copyright, cookie, consent, \
    rating, printonly, print-only, editors-note, editors_note, editor-note";

/// Words that mark boilerplate only as a whole name.
const BOILERPLATE_NAMES: &str = "rss, cta, rec, tag, tags, ad";

const CAPTION_NAMES: &str = "caption, bildunterschrift, legende, image-desc, imagedesc, credit, copyright, photo-by, photoby, \
    photo-info, photo-source, bildquelle";

const NOTICE_PREFIXES: &str = "copyright, (c), alle rechte, all rights, tous droits, todos los derechos";

const CREDIT_LABELS: &str = "foto, fotos, photo, photos, bild, bilder, image, images, credit, credits, crédit, crédits, \
    crédit photo, crédits photo, crédits photos, photo credit, image credit, quelle, source, sources, fuente, photo by, \
    image by, bildquelle, fotografía, zdjęcie";

const LINK_LIST_LABELS: [&str; 6] = [
    // English
    "related, read more, read also, read next, also read, see also, more on, more from, you may like, you may also like, \
     you might like, you might also like, recommended, don't miss, topics, tags, tag, share this",
    // German
    "mehr zum thema, lesen sie auch, lesen sie mehr, lesen sie hier, auch interessant, das könnte sie, das könnte dich, \
     weitere artikel, weitere informationen, weitere beiträge, weitere themen, weitere meldungen, weitere nachrichten, \
     weitere news, ähnliche artikel, ähnliche beiträge, empfohlene artikel, empfohlene beiträge, mehr themen, \
     mehr artikel, mehr news, zum thema, verwandte, neueste artikel, aktuelle artikel, aktuelle ausgabe, kategorien, \
     schlagwörter, quellen, quellenangaben, teilen",
    // French
    "à lire aussi, lire aussi, voir aussi, sur le même thème, sur le même sujet, vous aimerez",
    // Spanish and Portuguese
    "lea también, lee también, leer también, te puede interesar, más sobre, más noticias, vea también, temas, \
     leia também, leia mais, veja também, saiba mais",
    // Italian and Dutch
    "leggi anche, potrebbe interessarti, lees ook, meer over",
    // Polish and Russian
    "czytaj też, czytaj także, zobacz też, zobacz także, читайте также",
];

/// Maximum length of a page that only asks for JavaScript, in characters.
const MAX_SCRIPT_WALL_CHARS: usize = 300;
/// Phrases with which pages ask for JavaScript, in the languages of the pages that were measured.
const SCRIPT_REQUESTS: &str = "enable, turn on, activate, requires, need, aktivier, einschalten, benötigt, activer, activez, nécessite, \
    habilit, activa, requiere, attiva, abilita, ative, schakel, włącz, включите";

/// Maximum length of an error page, in characters.
const MAX_ERROR_PAGE_CHARS: usize = 400;
const ERROR_PAGE_TITLES: &str = "not found, page not found, error 404, file not found, nicht gefunden, seite nicht gefunden, \
    page introuvable, page non trouvée, página no encontrada, pagina no encontrada, pagina non trovata, \
    página não encontrada, pagina niet gevonden, nie znaleziono, страница не найдена, ページが見つかりません";

/// Returns whether a page, although sent with status 200, is an error page by its title.
pub fn is_error_page(title: &str, text: &str) -> bool {
    let title = title.to_lowercase();
    let title = first_word(&title);
    let is_letter = |c: char| c.is_alphanumeric();
    let behind = title.strip_prefix("404").map(str::trim_start);
    // The number alone also occurs in other titles, such as 404 Media.
    let numbered = behind.is_some_and(|rest| !rest.starts_with(is_letter) || rest.starts_with("error"));
    let named = [Some(title), behind.map(first_word)].into_iter().flatten().any(|title| {
        let begins = |gone| title.strip_prefix(gone).is_some_and(|rest: &str| !rest.starts_with(is_letter));
        entries(ERROR_PAGE_TITLES).any(begins)
    });
    // An article about the status has a title like it, but it is longer than an error page.
    (named || numbered) && text.chars().nth(MAX_ERROR_PAGE_CHARS).is_none()
}

/// Returns the text from the first letter or digit on.
fn first_word(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// Returns whether the text of a page only asks for JavaScript.
pub fn is_script_wall(text: &str) -> bool {
    let text = text.to_lowercase();
    // A longer page is an article that mentions JavaScript.
    text.chars().nth(MAX_SCRIPT_WALL_CHARS).is_none()
        && text.contains("javascript")
        && entries(SCRIPT_REQUESTS).any(|asks| text.contains(asks))
}

/// Returns the class and id of an element, in lower case.
pub fn class_and_id(page: &Document, element: NodeId) -> String {
    format!("{} {}", page.class_name(element), page.id_attr(element)).to_lowercase()
}

/// Returns whether a class or id marks an element inside of an article that does not belong to it.
pub fn is_boilerplate(names: &str) -> bool {
    // Long words are searched anywhere in a name (`post-newsletter`); short ones would also match
    // parts of other words (`stage`).
    entries(BOILERPLATE_PARTS).any(|entry| names.contains(entry))
        || names
            .split(|c: char| !c.is_alphanumeric())
            .any(|name| entries(BOILERPLATE_NAMES).any(|entry| name == entry))
}

/// Returns whether a class or id marks a caption or a picture credit.
pub fn is_caption(names: &str) -> bool {
    entries(CAPTION_NAMES).any(|entry| names.contains(entry))
}

/// Returns whether a line introduces other pages, such as "Read also" above a list of links.
pub fn is_label(text: &str) -> bool {
    LINK_LIST_LABELS.iter().any(|list| starts_with_any(text, list))
}

/// Returns whether a line is a copyright notice.
pub fn is_notice(text: &str) -> bool {
    text.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '©').starts_with('©')
        || starts_with_any(text, NOTICE_PREFIXES)
}

/// Returns whether a line is a picture credit.
pub fn is_credit(text: &str) -> bool {
    // A credit names its kind before a colon. Without this, a sentence about photos would count.
    let Some((name, _)) = text.split_once([':', '©']) else { return false };
    let name = name.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    entries(CREDIT_LABELS).any(|entry| name == entry)
}

fn starts_with_any(text: &str, list: &str) -> bool {
    let head: String =
        // Only the start is lowered: the text may be a long paragraph, and no entry is longer.
        text.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '(').chars().take(60).collect();
    let head = head.to_lowercase();
    // An entry must end with its word: `tag` does not begin `Tagsüber`.
    let ends = |rest: &str| !rest.starts_with(char::is_alphanumeric);
    entries(list).any(|entry| head.strip_prefix(entry).is_some_and(ends))
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boilerplate_is_recognised_by_its_class() {
        for names in ["post-newsletter", "c-related__list", "article tags", "inline-cta", "rec-post"] {
            assert!(is_boilerplate(names), "{names}");
        }
        for names in ["entry-content", "article-body", "stage", "record", "headline", "post"] {
            assert!(!is_boilerplate(names), "{names}");
        }
    }

    #[test]
    fn script_wall_is_recognised() {
        assert!(is_script_wall("You need to enable JavaScript to run this app."));
        assert!(is_script_wall("Bitte aktivieren Sie JavaScript in Ihrem Browser."));
        assert!(!is_script_wall("JavaScript is a language of the web."));
        assert!(!is_script_wall(&"You need JavaScript, and here is why. ".repeat(20)));
    }

    #[test]
    fn error_page_is_recognised_by_its_title() {
        for title in [
            "404 Not Found",
            "404 Page Not Found",
            "404 - Seite nicht gefunden",
            "Page not found | Herons",
            "Seite nicht gefunden",
            "- 404 -",
        ] {
            assert!(is_error_page(title, "Sorry, there is nothing here."), "{title}");
        }
        assert!(!is_error_page("404 Not Found", &"How the status came about. ".repeat(20)));
        assert!(
            !is_error_page("4042 herons", "Counted.")
                && !is_error_page("404 Media", "Subscribe to read.")
                && !is_error_page("Lost and not found", "Words.")
        );
    }

    #[test]
    fn label_is_recognised_by_its_start() {
        for text in
            ["Read more:", "» Lesen Sie auch", "À lire aussi", "Mehr zum Thema auf UEPO.de", "Tags: ants"]
        {
            assert!(is_label(text), "{text}");
        }
        for text in [
            "Readers more than others",
            "Themen der Zeit",
            "Tagsüber schläft der Uhu",
            "Relatedness is a number",
        ] {
            assert!(!is_label(text), "{text}");
        }
    }

    #[test]
    fn credits_and_notices_are_recognised_by_their_start() {
        assert!(
            is_credit("(Credit: Clayton Aldern / Grist)")
                && is_credit("Foto: dpa")
                && is_credit("Crédits photos : Bestimage")
        );
        assert!(!is_credit("Photo essays are rare: here is one") && !is_credit("Foto"));
        assert!(
            is_notice("© 2022 The Loopback Review")
                && is_notice("Copyright 2020")
                && is_notice("(c) 2019 by us")
        );
        assert!(!is_notice("Copyrights were invented late"));
    }
}
