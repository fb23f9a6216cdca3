//! Feeds as found on the web, and malformed ones.

use proptest::prelude::*;

use super::*;

const URL: &str = "https://example.org/blog/feed.xml";

fn feed(text: &str) -> Feed {
    match read_feed(text.as_bytes(), URL) {
        FeedDocument::Feed(feed) => *feed,
        FeedDocument::Page(links) => panic!("no feed, but {links:?}"),
        FeedDocument::Malformed => panic!("a broken feed"),
    }
}

fn page(text: &str) -> Vec<FeedLink> {
    match read_feed(text.as_bytes(), URL) {
        FeedDocument::Page(links) => links,
        FeedDocument::Malformed => panic!("a broken feed"),
        FeedDocument::Feed(feed) => panic!("no page, but {feed:?}"),
    }
}

fn rss(items: &str) -> Feed {
    feed(&format!("<rss version=\"2.0\"><channel><title>T</title>{items}</channel></rss>"))
}

fn item(inner: &str) -> Item {
    rss(&format!("<item>{inner}</item>")).items.remove(0)
}

#[test]
fn rss_content_and_authors_are_read() {
    let read = feed(concat!(
        "\n <?xml version=\"1.0\"?><rss version=\"2.0\" xmlns:content=\"http://purl.org/rss/1.0/modules/content/\"",
        " xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><channel><title>Bits &amp;amp; pieces</title>",
        "<link>https://example.org/blog/</link><ttl>90</ttl><item><title>One</title><link>/one</link>",
        "<guid isPermaLink=\"false\">g1</guid><dc:creator>Ada Writer</dc:creator>",
        "<pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate><description>A few &lt;b&gt;words&lt;/b&gt;.</description>",
        "<content:encoded><![CDATA[<p>First.</p><script>bad()</script><p>Second&nbsp;part.</p>]]></content:encoded>",
        "</item></channel></rss>"
    ));

    assert_eq!((read.title.as_deref(), read.ttl_minutes), (Some("Bits & pieces"), Some(90)));
    assert_eq!(read.site_url.as_deref(), Some("https://example.org/blog/"));
    let one = &read.items[0];
    assert_eq!((one.key.as_str(), one.url.as_deref()), ("g1", Some("https://example.org/one")));
    assert_eq!((one.title.as_str(), one.author.as_deref()), ("One", Some("Ada Writer")));
    assert_eq!(one.summary.as_deref(), Some("A few words."));
    assert_eq!((one.text.as_str(), one.whole), ("First.\n\nSecond part.", true));
    assert_eq!(one.published_at, Some(1_767_323_045_000));
}

#[test]
fn atom_text_types_are_read() {
    let read = feed(concat!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title type=\"html\">A &amp;lt;b&amp;gt; c</title><id>u</id>",
        "<author><name>The Desk</name></author><link rel=\"self\" href=\"https://example.org/blog/feed.xml\"/>",
        "<link href=\"https://example.org/\"/><entry><id>1</id><title>Vec&lt;T&gt;</title>",
        "<link rel=\"enclosure\" type=\"audio/mpeg\" length=\"7\" href=\"/a.mp3\"/><link href=\"one\"/>",
        "<updated>2026-01-02T03:04:05Z</updated><content type=\"text\">a &lt; b</content></entry>",
        "<entry><id>2</id><title>x</title><content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\">",
        "<p>One</p><p>Two</p></div></content></entry></feed>"
    ));

    assert_eq!(read.title.as_deref(), Some("A <b> c"));
    assert_eq!(read.site_url.as_deref(), Some("https://example.org/"));
    let [one, two] = &read.items[..] else { panic!("{read:?}") };
    assert_eq!((one.title.as_str(), one.text.as_str()), ("Vec<T>", "a < b"));
    assert_eq!(
        (one.url.as_deref(), one.author.as_deref()),
        (Some("https://example.org/blog/one"), Some("The Desk"))
    );
    let sound = Enclosure {
        url: "https://example.org/a.mp3".to_owned(),
        media_type: Some("audio/mpeg".to_owned()),
        bytes: Some(7),
    };
    assert_eq!(one.enclosure, Some(sound));
    assert_eq!(two.text, "One\n\nTwo");
}

#[test]
fn json_feed_is_read() {
    let read = feed(concat!(
        r#"{"version": "https://jsonfeed.org/version/1.1", "title": "J", "home_page_url": "https://example.org/","#,
        r#" "items": [{"id": "7", "url": "https://example.org/7", "content_text": "Plain <b> words.\nTwo lines."},"#,
        r#" {"id": "8", "summary": "Short.", "title": "Eight", "date_published": "2026-01-02T03:04:05Z","#,
        r#" "attachments": [{"url": "https://example.org/8.m4a", "mime_type": "application/octet-stream"}]}]}"#
    ));

    let [seven, eight] = &read.items[..] else { panic!("{read:?}") };
    assert_eq!(
        (read.media_type.as_str(), seven.text.as_str()),
        ("application/feed+json", "Plain <b> words.\nTwo lines.")
    );
    assert_eq!((eight.text.as_str(), eight.whole), ("Short.", false));
    assert_eq!(eight.enclosure.as_ref().map(|found| found.url.as_str()), Some("https://example.org/8.m4a"));
}

#[test]
fn title_loses_markup_and_keeps_other_brackets() {
    for (escaped, title) in [
        ("Why &lt;i&gt;birds&lt;/i&gt; &amp;amp; bees", "Why birds & bees"),
        ("Using Vec&lt;T&gt; well", "Using Vec<T> well"),
        ("1 &lt; 2", "1 < 2"),
        ("<![CDATA[AT&amp;T rises]]>", "AT&T rises"),
    ] {
        assert_eq!(item(&format!("<title>{escaped}</title>")).title, title);
    }
}

#[test]
fn entry_with_only_a_title_has_it_as_text() {
    let only = item("<title>Alone</title><link>https://example.org/alone</link>");

    assert_eq!((only.text.as_str(), only.whole, only.summary), ("Alone", false, None));
}

#[test]
fn entry_without_a_title_gets_its_first_words() {
    assert_eq!(item("<description>Seen at the river today.</description>").title, "Seen at the river today.");
}

#[test]
fn long_description_is_complete_unless_truncated() {
    let long = "word ".repeat(400);

    assert!(item(&format!("<description>{long}.</description>")).whole);
    assert!(!item(&format!("<description>{long} [&#8230;]</description>")).whole);
    assert!(!item("<description>Short.</description>").whole);
}

#[test]
fn unescaped_markup_in_text_is_read_as_text() {
    let found = item("<description>It <b>waits<br>for <i>fish</b> &amp; frogs.</description>");

    assert_eq!(found.text, "It waits\nfor fish & frogs.");
    let after_empty =
        item("<description /></item><item><title>B</title><description>It <b>waits</description>");
    assert_eq!(after_empty.title, "Untitled");
    assert_eq!(item("<title>T</title><description>It <b>waits</description>").title, "T");
}

#[test]
fn invalid_feed_is_not_a_page() {
    let broken = "<?xml version=\"1.0\"?><!-- made by hand --><rss version=\"2.0\"><channel><item><title>x</b></item></channel></rss>";
    let page = "<!DOCTYPE html><html><body><p>How <feed> works</p><p>unclosed";

    for broken in [broken, "<rss version=\"2.0\"/>"] {
        assert!(
            matches!(read_feed(broken.as_bytes(), "https://example.org/feed"), FeedDocument::Malformed),
            "{broken}"
        );
    }
    let comment = "<!-- <feed> --><!DOCTYPE html><html><body>";
    for page in [page, comment, "<feedback><p>Yours"] {
        assert!(
            matches!(read_feed(page.as_bytes(), "https://example.org/"), FeedDocument::Page(_)),
            "{page}"
        );
    }
}

#[test]
fn short_teaser_is_not_complete() {
    let content = |text: &str| {
        item(&format!("<content:encoded xmlns:content=\"http://purl.org/rss/1.0/modules/content/\"><![CDATA[<p>{text}</p>]]></content:encoded>")).whole
    };
    let long = "word ".repeat(400);

    assert!(content("Seen at the river today.") && content(&format!("{long} Continue reading")));
    assert!(!content("Seen at the river &#8230;"));
    assert!(!content("Seen at the river today.</p><p><a href=\"/s\">Continue reading</a> &rarr;"));
}

#[test]
fn id_that_is_a_url_is_the_page_without_a_link() {
    assert_eq!(item("<guid>https://example.org/g</guid>").url.as_deref(), Some("https://example.org/g"));
    assert_eq!(item("<guid>7</guid><title>x</title>").url, None);
    assert_eq!(item("<title>x</title><link>javascript:alert(1)</link>").url, None);
}

#[test]
fn repeated_entry_is_one_entry() {
    let same_id = "<item><guid>a</guid><title>1</title></item><item><guid>a</guid><title>2</title></item>";
    let same_page = "<item><guid>a</guid><title>1</title><link>/1</link></item><item><guid>b</guid><title>1</title><link>/1</link></item>";
    let same_place = "<item><guid>a</guid><title>1</title><link>/</link></item><item><guid>b</guid><title>2</title><link>/</link></item>";

    assert_eq!([same_id, same_page, same_place].map(|items| rss(items).items.len()), [1, 1, 2]);
}

#[test]
fn newest_entries_of_a_long_feed_are_kept() {
    let entry = |n: i64| format!("<item><guid>{n}</guid><pubDate>{}</pubDate></item>", date(n));
    let all: String = (0..300).map(entry).collect();

    let kept = rss(&all).items;

    assert_eq!(kept.len(), MAX_ITEMS);
    assert!(kept.iter().all(|item| item.key.parse::<i64>().unwrap() >= 100));
}

fn date(day: i64) -> String {
    let day = time::OffsetDateTime::from_unix_timestamp(day * 86_400).unwrap();
    day.format(&time::format_description::well_known::Rfc3339).unwrap()
}

#[test]
fn declared_encodings_are_read() {
    let text = "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><rss version=\"2.0\"><channel><title>Caf\u{e9}</title></channel></rss>";
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();

    let FeedDocument::Feed(feed) = read_feed(&bytes, URL) else { panic!("no feed") };
    assert_eq!(feed.title.as_deref(), Some("Café"));
}

#[test]
fn date_without_a_zone_is_accepted() {
    let read = feed(concat!(
        "<rss version=\"2.0\"><channel><title>T</title><item><title>One</title><link>/1</link>",
        "<pubDate>Fri, 02 Jan 2026 03:04:05</pubDate></item></channel></rss>"
    ));

    assert_eq!(read.items[0].published_at, Some(1_767_323_045_000));
}

/// Covers the threat table (row P4): entities that expand to gigabytes, or to files.
#[test]
fn entity_bomb_is_not_expanded() {
    let bomb = concat!(
        "<?xml version=\"1.0\"?><!DOCTYPE r [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">",
        "<!ENTITY f SYSTEM \"file:///etc/passwd\">]><rss version=\"2.0\"><channel><title>&b;&f;</title></channel></rss>"
    );

    let title = feed(bomb).title.unwrap();

    assert!(!title.contains("aaaa") && !title.contains("root"), "{title}");
}

#[test]
fn feeds_of_comments_are_listed_last() {
    let links = page(concat!(
        "<html><head><base href=\"/b/\"><link rel=alternate type=\"application/rss+xml\" title=\"Comments\" href=\"/c\">",
        "<link rel=\"ALTERNATE\" type=\"application/atom+xml; charset=utf-8\" href=\"feed\">",
        "<link rel=alternate type=\"application/json\" href=\"/wp-json\"><link rel=stylesheet href=x>",
        "<link rel=alternate type=\"application/rss+xml\" href=\"javascript:x\"></head></html>"
    ));

    let urls: Vec<&str> = links.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(urls, ["https://example.org/b/feed", "https://example.org/c"]);
    assert_eq!(links[0].media_type, "application/atom+xml");
}

#[test]
fn other_content_is_not_a_feed_and_links_none() {
    for text in ["", "words", "{}", "[]", "<html><body>none</body></html>", "%PDF-1.7", "\0\0"] {
        assert_eq!(page(text), [], "{text}");
    }
}

#[test]
fn opml_is_read_with_its_folders() {
    let list = concat!(
        "\u{feff}<?xml version=\"1.0\"?><opml version=\"2.0\"><head/><body>",
        "<outline text=\"News\"><outline text=\"Deep\"><outline type=\"rss\" text=\"A &amp; B\" xmlUrl=\"https://a.example/?x=1&amp;y=2\"/>",
        "</outline><outline title=\"C\" xmlurl=\"feed:https://c.example/\"></outline></outline>",
        "<outline xmlUrl=\"feed://d.example/\"/></body></opml>"
    );

    let found = read_opml(list).unwrap();

    let outline = |url: &str, title: Option<&str>, folder: Option<&str>| Outline {
        url: url.to_owned(),
        title: title.map(str::to_owned),
        folder: folder.map(str::to_owned),
    };
    assert!(!found.is_truncated);
    assert_eq!(
        found.feeds,
        [
            outline("https://a.example/?x=1&y=2", Some("A & B"), Some("News / Deep")),
            outline("https://c.example/", Some("C"), Some("News")),
            outline("http://d.example/", None, None),
        ]
    );
    assert_eq!(read_opml("<rss/>"), None);
    assert_eq!(read_opml("no list"), None);
}

#[test]
fn handwritten_opml_loses_no_feed() {
    let list = concat!(
        "<opml><body><outline text=\"R & D\" xmlUrl=\"https://a.example/?a=1&b=2\"/></outline>",
        "<p></b><outline xmlUrl=\"https://b.example/?c=&amp;d\"/></body></opml>"
    );
    let urls = |list: &str| -> Vec<String> {
        read_opml(list).unwrap().feeds.into_iter().map(|feed| feed.url).collect()
    };

    assert_eq!(urls(list), ["https://a.example/?a=1&b=2", "https://b.example/?c=&d"]);
    let cut =
        read_opml("<opml><body><outline xmlUrl=\"https://a.example/\"/><outline xmlUrl=\"https").unwrap();
    assert_eq!((cut.feeds.len(), cut.is_truncated), (1, true));
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in any::<Vec<u8>>()) {
        read_feed(&bytes, URL);
    }

    #[test]
    fn any_opml_can_be_read(text in "(<opml>)?[<>/=\"'a-c &;]{0,80}(<outline xmlUrl=\"x\"/?>)?") {
        read_opml(&text);
    }
}

#[test]
fn entries_without_ids_are_distinguished_by_content() {
    let item = |day: u32, more: &str| {
        format!(
            "<item><title>Note</title><pubDate>0{day} Jan 2024 00:00:00 GMT</pubDate>{more}<description>On day {day}.</description></item>"
        )
    };
    let of = |items: &[String]| {
        feed(&format!("<rss version=\"2.0\"><channel><title>T</title>{}</channel></rss>", items.concat()))
    };

    let three = of(&[item(3, ""), item(2, ""), item(1, "")]);
    assert_eq!(three.items.len(), 3);
    // The key must not depend on which other entries the feed has at the time.
    assert_eq!(of(&[item(3, ""), item(2, "")]).items[1].key, three.items[1].key);
    let link = "<link>/changes</link>";
    assert_eq!(of(&[item(2, link), item(1, link)]).items.len(), 2);
    assert_eq!(of(&[item(2, link)]).items[0].key, "https://example.org/changes");
}

#[test]
fn unclosed_tag_does_not_lose_the_feed() {
    let read = feed(concat!(
        "<rss version=\"2.0\"><channel><title>T</title><link>https://example.org/</link><item><title>One</title>",
        "<link>/1</link><description>a <br> heron <img src=\"x.png\"> calls</description></item></channel></rss>"
    ));

    assert_eq!((read.items.len(), read.items[0].url.as_deref()), (1, Some("https://example.org/1")));
}
