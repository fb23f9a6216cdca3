//! The addresses in a text that was pasted or shared.

use std::net::SocketAddr;

/// Addresses that are saved at once. More are imported as a file.
pub const MAX_ADDRESSES: usize = 100;

/// The addresses in a text.
#[derive(Debug, Default)]
pub struct FoundAddresses {
    /// Each once, in their order, at most [`MAX_ADDRESSES`].
    pub urls: Vec<String>,
    /// The lines of a list that hold no address, each once, in their order, at most [`MAX_ADDRESSES`].
    pub refused: Vec<String>,
    /// The number of addresses and lines beyond these.
    pub left_out: usize,
}

/// Finds the addresses in a list with one a line. A line may also be a text that contains full URLs, such as a title with its URL.
pub fn find_addresses(list: &str) -> FoundAddresses {
    let mut found = FoundAddresses::default();
    for line in lines_of(list) {
        let words = words_of(line);
        let urls = if is_broken_address(&words) { Vec::new() } else { addresses_of(&words) };
        if urls.is_empty() {
            push_once(&mut found.refused, &mut found.left_out, line.to_owned());
        }
        found.add_urls(urls);
    }
    found
}

impl FoundAddresses {
    /// Adds the addresses in a text that another app shares. The words around them are not refused.
    pub fn add_shared(&mut self, text: &str) {
        for line in lines_of(text) {
            self.add_urls(addresses_of(&words_of(line)));
        }
    }

    fn add_urls(&mut self, urls: Vec<String>) {
        for url in urls {
            push_once(&mut self.urls, &mut self.left_out, url);
        }
    }
}

fn push_once(list: &mut Vec<String>, left_out: &mut usize, entry: String) {
    if list.contains(&entry) {
        return;
    }
    if list.len() < MAX_ADDRESSES {
        list.push(entry);
    } else {
        *left_out = left_out.saturating_add(1);
    }
}

fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn words_of(line: &str) -> Vec<&str> {
    let words = line.split_whitespace().map(|word| word.trim_matches(['<', '>', '"', '\'', ',', ';']));
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns whether a line is an address with a space in it. Its first word alone may be the address of another site. A title may follow the
/// address behind a `|`, as OneTab exports it.
fn is_broken_address(words: &[&str]) -> bool {
    let mut address = words.iter().take_while(|word| **word != "|");
    words.first().is_some_and(|word| has_scheme(word)) && !address.all(|word| is_web_address(word))
}

fn addresses_of(words: &[&str]) -> Vec<String> {
    match words {
        [only] if is_host_with_path(only) => vec![format!("https://{only}")],
        _ => words.iter().filter(|word| is_web_address(word)).map(|word| (*word).to_owned()).collect(),
    }
}

/// Returns whether a word starts with a scheme and `://` (RFC 3986, section 3.1).
fn has_scheme(word: &str) -> bool {
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    word.split_once("://").is_some_and(|(scheme, _)| !scheme.is_empty() && scheme.chars().all(is_of_scheme))
}

/// Returns whether a word starts with `http://` or `https://` and has more than that.
fn is_web_address(word: &str) -> bool {
    word.split_once("://").is_some_and(|(scheme, rest)| {
        !rest.is_empty() && ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web))
    })
}

/// Returns whether a word is an address without its scheme, such as `example.org/page`, `192.168.1.5:8080` or `localhost:3000`.
fn is_host_with_path(word: &str) -> bool {
    let host = word.split(['/', '?', '#']).next().unwrap_or_default();
    if is_ip_address(host) {
        return true;
    }
    match host.split_once(':') {
        // A single word with a colon is a host only if a port follows: `mailto:x@y.example` is none.
        Some((name, port)) => {
            port.parse::<u16>().is_ok() && (is_domain(name) || name.eq_ignore_ascii_case("localhost"))
        }
        None => is_domain(host),
    }
}

/// Returns whether a host is an IP address with or without a port; one of IPv6 is in brackets.
fn is_ip_address(host: &str) -> bool {
    host.parse::<SocketAddr>().is_ok() || format!("{host}:80").parse::<SocketAddr>().is_ok()
}

fn is_domain(name: &str) -> bool {
    let labels: Vec<&str> = name.split('.').collect();
    labels.len() >= 2
        && labels.iter().all(|label| !label.is_empty())
        && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '.')
        && labels.last().is_some_and(|label| is_top_level(label))
}

/// Returns whether a label can be the last one of a domain. A number such as 12.50 would be read as an IPv4 address.
fn is_top_level(label: &str) -> bool {
    label.chars().count() >= 2 && !label.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        find_addresses(text).urls
    }

    #[test]
    fn title_behind_an_address_is_left_out() {
        assert_eq!(found("https://a.example/1 | Mud, and silt"), ["https://a.example/1"]);
    }

    #[test]
    fn addresses_of_lines_and_of_texts_are_found() {
        assert_eq!(
            found(" https://a.example/1 \n\nHTTP://b.example/2\nb.example/3\nhttps://a.example/1"),
            ["https://a.example/1", "HTTP://b.example/2", "https://b.example/3"]
        );
        assert_eq!(
            found("Look at this: <https://a.example/ä?b=c#d>, and https://b.example/"),
            ["https://a.example/ä?b=c#d", "https://b.example/"]
        );
        assert_eq!(
            found("https://a.example/, https://b.example/"),
            ["https://a.example/", "https://b.example/"]
        );
        assert_eq!(found("192.168.1.20/manual"), ["https://192.168.1.20/manual"]);
        assert!(found("A note.\nof two lines\nwords\nhttp://\n.example\nfile.x\nftp://a.example").is_empty());
    }

    #[test]
    fn ip_address_or_localhost_with_port_is_a_host() {
        for host in ["127.0.0.1:18778/page.html", "192.168.1.5:8080/wiki", "[::1]/x", "localhost:3000/x"] {
            assert_eq!(found(host), [format!("https://{host}")]);
        }
    }

    #[test]
    fn line_without_an_address_is_refused() {
        let lines = [
            "foo bar",
            "mailto:x@y.example",
            "javascript:alert(1)",
            "ftp://a.example/x",
            "https://exa mple.com/x",
            "https://a.example/x and more",
            "example",
            "intranet/page",
            "localhost/x",
            "user.name:secret@a.example",
            "12.50",
            "https://",
        ];

        let found = find_addresses(&format!("{}\nhttps://a.example/\nfoo bar", lines.join("\n")));

        assert_eq!(found.refused, lines);
        assert_eq!((found.urls, found.left_out), (vec!["https://a.example/".to_owned()], 0));
    }

    #[test]
    fn words_of_a_shared_text_are_not_refused() {
        let mut found = find_addresses("");

        found.add_shared("Gulls\nhttps://a.example/gulls by Ada");

        assert_eq!(found.urls, ["https://a.example/gulls"]);
        assert!(found.refused.is_empty());
    }

    #[test]
    fn addresses_beyond_the_most_are_counted() {
        let text: String = (0..103).map(|number| format!("https://a.example/{number}\n")).collect();

        let found = find_addresses(&text);

        assert_eq!((found.urls.len(), found.left_out), (MAX_ADDRESSES, 3));
    }
}
