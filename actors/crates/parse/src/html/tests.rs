//! Whole pages, as they are saved: what is in the text and what is not.

use proptest::prelude::*;

use super::*;

const URL: &str = "https://example.org/birds/heron";
const HERON: &str =
    "The heron stands still in the water for an hour, waiting for a fish that comes too near.";
const STRIKE: &str =
    "Then it strikes, faster than the eye can see, and the water is as still as it was before.";

fn text_of(body: &str) -> String {
    read_article(
        &format!("<html><head><title>Patience of birds</title></head><body>{body}</body></html>"),
        URL,
        None,
    )
    .unwrap()
    .text
}

fn article_with(part: &str) -> String {
    text_of(&format!(
        "<nav><a href=/>navnoise</a></nav><main><article><h1>Patience of birds</h1><p>{HERON}</p>{part}<p>{STRIKE}</p>\
         <p>{HERON} And again, all day.</p></article></main><footer><p>footnoise all rights reserved</p></footer>"
    ))
}

#[test]
fn headline_is_kept_with_a_user_title() {
    let html = format!(
        "<title>Patience of birds</title><article><h1>Patience of birds</h1><p>{HERON}</p><p>{STRIKE}</p></article>"
    );
    let begins = |called| read_article(&html, URL, called).unwrap().text.starts_with("Patience of birds");

    assert!(begins(Some("To be read in spring")));
    assert!(!begins(None) && !begins(Some("Patience of Birds")));
    // As a browser calls it.
    assert!(!begins(Some("Patience of birds | The Reeds")) && begins(Some("Of the patience of birds")));
}

/// Returns the page of the acceptance suite.
fn article_html(title: &str, paragraphs: &[&str], author: &str) -> String {
    let prose: String = paragraphs.iter().map(|paragraph| format!("<p>{paragraph}</p>\n")).collect();
    format!(
        r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="author" content="{author}">
<meta property="og:site_name" content="The Loopback Review">
<meta property="og:title" content="{title}">
<meta name="description" content="A page of the acceptance suite.">
<script>window.tracker = "scriptnoise";</script><style>.x{{color:red}}</style></head>
<body>
<header><nav><ul><li><a href="/a">navnoise home</a></li><li><a href="/b">navnoise shop</a></li></ul></nav></header>
<aside class="advert ad-banner sidebar"><p>adnoise buy cheap watches now</p></aside>
<main><article><h1>{title}</h1><p class="byline">By {author}</p>
{prose}
</article></main>
<footer><p>footnoise all rights reserved</p></footer>
</body></html>"#
    )
}

#[test]
fn article_is_read_without_boilerplate() {
    for paragraphs in [
        vec![HERON, STRIKE],
        vec!["One short line about herons."],
        vec!["The heron stands still in the water for an hour, waiting. "; 4],
    ] {
        let article =
            read_article(&article_html("Patience of birds", &paragraphs, "Jo Bird"), URL, None).unwrap();

        for noise in ["navnoise", "adnoise", "footnoise", "scriptnoise", "<p>", "color:red"] {
            assert!(!article.text.contains(noise), "{noise}: {}", article.text);
        }
        assert!(article.text.contains(paragraphs[0].trim()), "{}", article.text);
        assert_eq!(article.title.as_deref(), Some("Patience of birds"));
        assert_eq!(article.author.as_deref(), Some("Jo Bird"));
        assert_eq!(article.site_name.as_deref(), Some("The Loopback Review"));
        assert_eq!(article.description.as_deref(), Some("A page of the acceptance suite."));
        assert_eq!(article.language.as_deref(), Some("en"));
    }
}

#[test]
fn scripts_and_styles_are_not_text() {
    let text = text_of(&format!(
        "<article><p>{}</p><script>var evilcode = 1</script><style>.evilstyle{{}}</style></article>",
        "Good words. ".repeat(40)
    ));

    assert!(
        text.contains("Good words.") && !text.contains("evilcode") && !text.contains("evilstyle"),
        "{text}"
    );
}

#[test]
fn paragraphs_headings_lists_and_rows_keep_their_lines() {
    let text = article_with(
        "<h2>How it waits</h2><ul><li>on one leg, as herons always do</li><li>without a sound of any kind</li></ul>\
         <table><tr><th>Month</th><th>Fish</th></tr><tr><td>May</td><td>12</td></tr></table>",
    );

    assert!(
        text.contains("\n\nHow it waits\n\non one leg, as herons always do\nwithout a sound of any kind\n\n"),
        "{text}"
    );
    assert!(text.contains("Month | Fish\nMay | 12\n\n"), "{text}");
}

#[test]
fn lead_outside_of_the_body_is_included() {
    let lead = "Few animals can wait as long as this one, and few are rewarded for it so reliably.";
    let text = text_of(&format!(
        "<header class=top><h1>Patience of birds</h1><p class=standfirst>{lead}</p></header>\
         <div class=story><p>{HERON}</p><p>{STRIKE}</p><p>{HERON} And again.</p></div>"
    ));

    assert!(text.contains(lead) && text.contains(STRIKE), "{text}");
}

#[test]
fn parts_with_boilerplate_names_are_removed() {
    let other = "Leave your address here and get the best of the week each Sunday morning.";
    for class in ["newsletter-box", "related-posts", "share-bar"] {
        let text = article_with(&format!("<div class={class}><p>{other}</p></div>"));

        assert!(!text.contains(other) && text.contains(STRIKE), "{class}: {text}");
    }
}

#[test]
fn captions_labels_and_notices_are_removed() {
    let text = article_with(
        "<figure><img src=a.png><figcaption>A heron in May</figcaption></figure><h3>Read also:</h3>\
         <ul><li><a href=/1>Storks on roofs</a></li></ul><p>© 2026 The Review</p>",
    );

    for gone in ["A heron in May", "Read also", "Storks", "©"] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
}

#[test]
fn title_is_not_repeated_in_the_text() {
    assert!(article_with("").starts_with("The heron stands"));
}

#[test]
fn page_without_an_article_gives_its_visible_text() {
    let text = text_of("<form><label>Sign in to read</label> <input name=user><button>Go</button></form>");

    assert_eq!(text, "Sign in to read");
}

#[test]
fn page_without_text_is_unreadable() {
    for html in
        ["", "<html></html>", "<p> \u{200b} </p><script>var a</script>", "<img alt=x>", "<!-- words -->"]
    {
        assert_eq!(read_article(html, URL, None), Err(ArticleError::NoText), "{html}");
    }
}

#[test]
fn list_of_links_is_read_unchanged() {
    let links: String =
        (0..30).map(|n| format!("<li><a href=/{n}>The {n}th report on herons</a></li>")).collect();

    let text = text_of(&format!("<h1>All reports</h1><ul>{links}</ul>"));

    assert!(text.contains("The 0th report on herons\nThe 1th report"), "{text}");
}

#[test]
fn data_dump_is_read_completely() {
    let rows: String = (0..60_000).map(|n| format!("<p>Row {n} of many.</p>")).collect();

    let text = text_of(&format!("<nav>navnoise</nav>{rows}"));

    assert!(
        text.starts_with("Row 0 of many.")
            && text.ends_with("Row 59999 of many.")
            && !text.contains("navnoise")
    );
}

#[test]
fn invalid_url_does_not_prevent_reading() {
    assert!(read_article(&format!("<p>{HERON}</p>"), "not an address", None).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_markup_gives_text_or_an_error(
        parts in proptest::collection::vec(prop_oneof![
            "[a-zé \u{200b}\u{0}-\u{1f}\u{301}🦩]{0,30}", Just("<p>".to_owned()), Just("</p>".to_owned()), Just("<div class=share>".to_owned()),
            Just("</div>".to_owned()), Just("<table><tr><td>".to_owned()), Just("<a href=x>".to_owned()), Just("<h1>".to_owned()), Just("<pre>\t".to_owned()),
            Just("<br>".to_owned()), Just("<ul><li>".to_owned()), Just("<b><i></b>".to_owned()), Just("<![CDATA[<!--".to_owned()), Just("&#0;&nbsp;&lt;p&gt;".to_owned()),
        ], 0..60)
    ) {
        if let Ok(article) = read_article(&parts.concat(), URL, None) {
            prop_assert!(unicode_normalization::is_nfc(&article.text));
            prop_assert!(article.text.chars().any(char::is_alphanumeric));
            prop_assert!(article.text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
            prop_assert!(!article.text.contains("\n\n\n"));
        }
    }
}

#[test]
fn text_after_an_icon_in_a_paragraph_is_kept() {
    for thrown in [
        "<svg><path/></svg>",
        "<wbr>",
        "<noscript>x</noscript>",
        "<script>x</script>",
        "<style>x</style>",
        "<math><mi>E</mi><annotation>tex</annotation></math>",
    ] {
        for around in ["It weighs", "It is seen all over the north, in reeds and at ponds, and it weighs"] {
            let part = format!(
                "<p>{around} {thrown} two kilos.</p><p>Rarely three.</p><ul><li>Grey back</li><li>White neck</li></ul>\
                 <h2>Its nest</h2><p>High up.</p>"
            );
            let text = article_with(&part);
            for words in
                [around, "two kilos.", "Rarely three.", "Grey back", "White neck", "Its nest", "High up."]
            {
                assert!(text.contains(words), "{thrown} {words}: {text}");
            }
        }
    }
    assert!(
        article_with("<p>It holds that <math><mi>E</mi><mo>=</mo><mi>m</mi></math> here too.</p>")
            .contains("E=m")
    );
}

#[test]
fn listings_and_quotations_in_figures_are_text() {
    let listing = "<figure class=highlight><pre><code>let heron = wait(3600);</code></pre></figure>";
    let quotation = "<figure class=wp-block-pullquote><blockquote><p>Who waits will eat, said the heron to the frog.</p></blockquote></figure>";
    let text = article_with(&format!("<p>{STRIKE} So it is written:</p>{listing}{quotation}"));

    assert!(text.contains("let heron = wait(3600);") && text.contains("Who waits will eat"), "{text}");
}

#[test]
fn removed_inline_element_keeps_the_text_after_it() {
    let inline = [
        "time",
        "label",
        "output",
        "data",
        "bdi",
        "bdo",
        "ruby",
        "nobr",
        "big",
        "acronym",
        "abbr",
        "dfn",
        "samp",
        "var",
        "kbd",
        "cite",
        "ins",
        "del",
        "small",
        "slot",
        "tt",
        "b",
        "strong",
        "i",
        "em",
        "u",
        "s",
        "mark",
        "sub",
        "sup",
        "code",
        "q",
        "a href=/x",
        "span",
        "font",
        "picture",
        "video",
        "audio",
        "map",
        "dialog",
        "iframe",
        "svg",
        "button",
        "select",
        "canvas",
        "object",
        "math",
        "noscript",
        "progress",
    ];
    for element in inline {
        let name = element.split(' ').next().unwrap();
        let paragraph = |n| {
            format!(
                "<p>Paragraph {n} tells of the heron at the lake, and of <{element}>thing</{name}> which AFTER {n} stands in the water for an hour and waits.</p>"
            )
        };
        let text = text_of(&format!("<article>{}</article>", (0..8).map(paragraph).collect::<String>()));
        for n in 0..8 {
            assert!(
                text.contains(&format!("AFTER {n} stands in the water for an hour and waits.")),
                "{element}: {text}"
            );
        }
    }
}

#[test]
fn ruby_readings_are_removed() {
    let paragraph = "<p>湖の<ruby>鳥<rp>(</rp><rt>とり</rt><rp>)</rp></ruby>は水の中で一時間も静かに立って、魚が近くに来るのを待っている。そして速く打つ。</p>";
    let text = text_of(&format!("<article>{}</article>", paragraph.repeat(6)));

    assert!(
        text.contains("湖の鳥は水の中で一時間も静かに立って、魚が近くに来るのを待っている。そして速く打つ。"),
        "{text}"
    );
    assert!(!text.contains("とり"), "{text}");
}

#[test]
fn collapsed_details_are_read() {
    let text = article_with(&format!(
        "<details><summary>How it waits</summary><p>{STRIKE} Once more.</p><p>It is patient, all day and half the night.</p></details>"
    ));

    assert!(text.contains("It is patient, all day and half the night."), "{text}");
}
