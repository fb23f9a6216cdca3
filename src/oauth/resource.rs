//! What tokens are for (RFC 8707): the MCP server of this service, in the spellings that clients use for it.

use url::Url;

/// Whether all of these name it. Clients say its address with and without a slash at the end, or the service's own.
pub fn fits<'a>(base_url: &str, mut asked: impl Iterator<Item = &'a str>) -> bool {
    let own = [spelling(base_url), spelling(&format!("{base_url}/mcp"))];
    asked.all(|asked| spelling(asked).is_some_and(|asked| own.contains(&Some(asked))))
}

/// Scheme and host in lower case, without a slash at the end; `None` for what cannot name a resource.
fn spelling(address: &str) -> Option<String> {
    if address.contains(['#', '?', '@', '\\', '%']) || !address.contains("://") {
        return None;
    }
    let parsed = Url::parse(address).ok()?;
    let plain = parsed.as_str();
    Some(plain.strip_suffix('/').unwrap_or(plain).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(asked: &[&str]) -> bool {
        fits("https://carrel.example", asked.iter().copied())
    }

    #[test]
    fn the_mcp_server_is_named_in_the_spellings_of_clients() {
        for asked in [
            "https://carrel.example/mcp",
            "https://carrel.example/mcp/",
            "HTTPS://Carrel.Example/mcp",
            "https://carrel.example:443/mcp",
            "https://carrel.example",
            "https://carrel.example/",
        ] {
            assert!(fit(&[asked]), "{asked}");
        }
        assert!(fit(&[]) && fit(&["https://carrel.example/mcp", "https://carrel.example/mcp/"]));
    }

    #[test]
    fn nothing_else_is() {
        for asked in [
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
            assert!(!fit(&[asked]), "{asked}");
        }
        assert!(!fit(&["https://carrel.example/mcp", "https://other.example/mcp"]));
    }
}
