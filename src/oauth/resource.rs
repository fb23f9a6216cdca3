//! The resource that tokens are for (RFC 8707): this server's `/mcp`, in the spellings that clients use.

use url::Url;

/// Returns whether all of these name `/mcp`; true if there are none, because the server has only this resource.
pub fn is_own<'a>(base_url: &str, mut resources: impl Iterator<Item = &'a str>) -> bool {
    // The base URL is accepted too: some clients send only the origin, and JavaScript's `new URL(x).href` adds a
    // slash to it.
    let own = [normalize(base_url), normalize(&format!("{base_url}/mcp"))];
    resources.all(|resource| normalize(resource).is_some_and(|resource| own.contains(&Some(resource))))
}

/// The URL with scheme and host in lower case and without a slash at the end; `None` for what cannot name a resource.
fn normalize(url: &str) -> Option<String> {
    // Checked before parsing: the parser would turn `\` into `/`, decode parts of the host, and complete
    // `https:host`.
    if url.contains(['#', '?', '@', '\\', '%']) || !url.contains("://") {
        return None;
    }
    let parsed = Url::parse(url).ok()?;
    let plain = parsed.as_str();
    Some(plain.strip_suffix('/').unwrap_or(plain).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_accepted(resources: &[&str]) -> bool {
        is_own("https://carrel.example", resources.iter().copied())
    }

    #[test]
    fn spellings_of_the_mcp_server_are_accepted() {
        for resource in [
            "https://carrel.example/mcp",
            "https://carrel.example/mcp/",
            "HTTPS://Carrel.Example/mcp",
            "https://carrel.example:443/mcp",
            "https://carrel.example",
            "https://carrel.example/",
        ] {
            assert!(is_accepted(&[resource]), "{resource}");
        }
        assert!(
            is_accepted(&[]) && is_accepted(&["https://carrel.example/mcp", "https://carrel.example/mcp/"])
        );
    }

    #[test]
    fn other_resources_are_refused() {
        for resource in [
            "https://other.example/mcp",
            "http://carrel.example/mcp",
            "https://carrel.example/mcp#x",
            "https://carrel.example/mcp?x=1",
            "https://carrel.example/MCP",
            "https://carrel.example/rest/v2",
            "https://carrel.example/mcp//",
            "/mcp",
            "carrel.example/mcp",
            "https://user@carrel.example/mcp",
        ] {
            assert!(!is_accepted(&[resource]), "{resource}");
        }
        assert!(!is_accepted(&["https://carrel.example/mcp", "https://other.example/mcp"]));
    }
}
