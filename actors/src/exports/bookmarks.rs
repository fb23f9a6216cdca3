//! Saved pages as a list for browsers (Netscape bookmarks).

use quick_xml::escape::escape;

use super::record::Bookmark;

/// What the list begins with.
pub const HEAD: &str = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n\
    <META HTTP-EQUIV=\"Content-Type\" CONTENT=\"text/html; charset=UTF-8\">\n\
    <TITLE>Bookmarks</TITLE>\n<H1>Bookmarks</H1>\n<DL><p>\n";
/// What it ends with.
pub const FOOT: &str = "</DL><p>\n";

/// The line of a bookmark.
pub fn line(bookmark: &Bookmark, title: &str) -> String {
    let tags = escape(bookmark.tags.join(","));
    let (url, title) = (escape(bookmark.url.as_str()), escape(title));
    let mut line = format!(
        "<DT><A HREF=\"{url}\" ADD_DATE=\"{}\" TAGS=\"{tags}\">{title}</A>\n",
        bookmark.saved_at.millis() / 1000
    );
    if let Some(notes) = &bookmark.notes {
        line.push_str(&format!("<DD>{}\n", escape(notes.as_str())));
    }
    line
}
