//! The addresses in a text that was pasted or shared.

/// Addresses that are saved at once. More are imported as a file.
pub const MAX_ADDRESSES: usize = 100;
/// The longest address, as in the API.
const MAX_ADDRESS_CHARS: usize = 8192;

/// The addresses in a text.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundAddresses {
    /// Each once, in their order, at most [`MAX_ADDRESSES`].
    pub urls: Vec<String>,
    /// The number of addresses beyond these.
    pub left_out: usize,
}

/// Finds the addresses in a text: what begins with `http://` or `https://`, and a line that is a host with a path.
pub fn find_addresses(text: &str) -> FoundAddresses {
    let mut urls: Vec<String> = Vec::new();
    let mut left_out = 0_usize;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        for url in addresses_of(line) {
            if urls.contains(&url) {
                continue;
            }
            if urls.len() < MAX_ADDRESSES {
                urls.push(url);
            } else {
                left_out = left_out.saturating_add(1);
            }
        }
    }
    FoundAddresses { urls, left_out }
}

fn addresses_of(line: &str) -> Vec<String> {
    let words = || line.split_whitespace().map(|word| word.trim_matches(['<', '>', '"', '\'', ',', ';']));
    let named: Vec<String> = words().filter(|word| has_scheme(word)).map(str::to_owned).collect();
    if !named.is_empty() {
        return named.into_iter().filter(|url| url.chars().count() <= MAX_ADDRESS_CHARS).collect();
    }
    let mut only = words();
    match (only.next(), only.next()) {
        (Some(word), None) if is_host_with_path(word) => vec![format!("https://{word}")],
        _ => Vec::new(),
    }
}

fn has_scheme(word: &str) -> bool {
    let start = word.get(..8).or_else(|| word.get(..7)).unwrap_or_default().to_ascii_lowercase();
    (start.starts_with("http://") || start.starts_with("https://")) && word.len() > 8
}

/// Returns whether a word is an address without its scheme, such as `example.org/page`.
fn is_host_with_path(word: &str) -> bool {
    let host = word.split(['/', '?', '#']).next().unwrap_or_default();
    let name = host.split(':').next().unwrap_or_default();
    let labels: Vec<&str> = name.split('.').collect();
    labels.len() >= 2
        && labels.iter().all(|label| !label.is_empty())
        && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '.')
        && labels.last().is_some_and(|label| label.chars().count() >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        find_addresses(text).urls
    }

    #[test]
    fn addresses_of_lines_and_of_shared_texts_are_found() {
        assert_eq!(
            found(" https://a.example/1 \n\nHTTP://b.example/2\nb.example/3\nhttps://a.example/1"),
            ["https://a.example/1", "HTTP://b.example/2", "https://b.example/3"]
        );
        assert_eq!(
            found("Look at this: <https://a.example/ä?b=c#d>, and https://b.example/"),
            ["https://a.example/ä?b=c#d", "https://b.example/"]
        );
        assert_eq!(found("192.168.1.20/manual"), ["https://192.168.1.20/manual"]);
        assert!(found("A note.\nof two lines\nwords\nhttp://\n.example\nfile.x\nftp://a.example").is_empty());
    }

    #[test]
    fn addresses_beyond_the_most_are_counted() {
        let text: String = (0..103).map(|number| format!("https://a.example/{number}\n")).collect();

        let found = find_addresses(&text);

        assert_eq!((found.urls.len(), found.left_out), (MAX_ADDRESSES, 3));
    }
}
