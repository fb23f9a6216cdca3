//! What a person does to connect each assistant, as `assistants.toml` says; compiled in.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

static WRITTEN: LazyLock<Written> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is compiled in, and a test reads it")]
    toml::from_str(include_str!("assistants.toml")).expect("assistants.toml is as its types want it")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "assistant")]
    assistants: Vec<Assistant>,
}

/// How an assistant is connected.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assistant {
    /// Its name in addresses.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Which program this is about.
    pub about: String,
    /// From where it asks.
    pub runs: Runs,
    /// What the person does, in order.
    pub steps: Vec<String>,
    /// What is good to know.
    pub facts: Vec<String>,
    /// Texts to copy.
    #[serde(default, rename(deserialize = "snippet"))]
    pub snippets: Vec<Snippet>,
    /// Links to open.
    #[serde(default, rename(deserialize = "link"))]
    pub links: Vec<Link>,
}

/// From where an assistant asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Runs {
    /// Its maker's machines: the address must be https and reachable from everywhere.
    Cloud,
    /// The person's own machine.
    Here,
}

/// A text to copy; `{key}` in it is for an MCP key.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snippet {
    /// What it is, or where it goes.
    pub label: String,
    /// `text`, `shell`, `json` or `toml`.
    pub language: String,
    /// The text.
    pub text: String,
}

/// A link to open.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What it does.
    pub label: String,
    /// Where it leads: an address of an application's own.
    pub url: String,
}

/// All of them for the MCP server at this address, in the order in which they are shown.
pub fn all(mcp: &str) -> Vec<Assistant> {
    let vscode = json!({ "name": "carrel", "type": "http", "url": mcp }).to_string();
    let vscode = utf8_percent_encode(&vscode, NON_ALPHANUMERIC).to_string();
    let cursor = STANDARD.encode(json!({ "url": mcp }).to_string());
    let cursor = utf8_percent_encode(&cursor, NON_ALPHANUMERIC).to_string();
    let fill = |text: &mut String| {
        *text = text.replace("{mcp}", mcp).replace("{vscode}", &vscode).replace("{cursor}", &cursor);
    };
    let mut all = WRITTEN.assistants.clone();
    for assistant in &mut all {
        assistant.snippets.iter_mut().for_each(|snippet| fill(&mut snippet.text));
        assistant.links.iter_mut().for_each(|link| fill(&mut link.url));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const MCP: &str = "https://carrel.example/mcp";

    #[test]
    fn every_assistant_is_told_the_address_and_nothing_is_left_to_fill_in_but_a_key() {
        let all = all(MCP);

        assert_eq!(all.iter().map(|one| &one.id).collect::<HashSet<_>>().len(), all.len());
        for one in &all {
            assert!(!one.steps.is_empty() && !one.snippets.is_empty(), "{}", one.id);
            assert!(one.snippets.iter().any(|snippet| snippet.text.contains(MCP)), "{}", one.id);
            for text in one.snippets.iter().map(|s| &s.text).chain(one.links.iter().map(|l| &l.url)) {
                let left = text.replace("{key}", "");
                assert!(!["{mcp}", "{vscode}", "{cursor}"].iter().any(|hole| left.contains(hole)), "{text}");
            }
            for snippet in &one.snippets {
                match snippet.language.as_str() {
                    "json" => drop(serde_json::from_str::<serde_json::Value>(&snippet.text).unwrap()),
                    "toml" => drop(toml::from_str::<toml::Table>(&snippet.text).unwrap()),
                    other => assert!(matches!(other, "text" | "shell"), "{other}"),
                }
            }
        }
    }

    #[test]
    fn install_links_hold_what_their_editors_read() {
        let all = all(MCP);
        let link =
            |id: &str| url::Url::parse(&all.iter().find(|one| one.id == id).unwrap().links[0].url).unwrap();

        let vscode = link("vscode");
        let said = percent_encoding::percent_decode_str(vscode.query().unwrap()).decode_utf8().unwrap();
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said, json!({ "name": "carrel", "type": "http", "url": MCP }));

        let cursor = link("cursor");
        let config = cursor.query_pairs().find(|(name, _)| name == "config").unwrap().1.into_owned();
        let said: serde_json::Value = serde_json::from_slice(&STANDARD.decode(config).unwrap()).unwrap();
        assert_eq!(said, json!({ "url": MCP }));
    }
}
