//! The instructions to connect each assistant: the contents of `assistants.toml`, which is compiled in.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

static ASSISTANTS: LazyLock<AssistantFile> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is compiled in, and a test reads it")]
    toml::from_str(include_str!("assistants.toml")).expect("assistants.toml has the form of its types")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AssistantFile {
    #[serde(rename = "assistant")]
    assistants: Vec<Assistant>,
}

/// The instructions to connect an assistant.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assistant {
    /// Stable id of the assistant, such as `claude`.
    pub id: String,
    /// Name of the assistant, for display.
    pub name: String,
    /// The programs that the instructions apply to.
    pub about: String,
    /// Where the assistant runs, which decides what URL it can reach.
    pub runs: AssistantLocation,
    /// Parts of the names by which its clients register or introduce themselves, in lower case.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub client_names: Vec<String>,
    /// What the user does, one step after another.
    pub steps: Vec<String>,
    /// Notes about limits and requirements of the assistant.
    pub facts: Vec<String>,
    /// Commands and settings to copy.
    #[serde(default, rename(deserialize = "snippet"))]
    pub snippets: Vec<Snippet>,
    /// Links that open an app and set it up.
    #[serde(default, rename(deserialize = "link"))]
    pub links: Vec<Link>,
}

/// Where an assistant runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AssistantLocation {
    /// On the machines of its vendor: the URL must be https and public.
    Cloud,
    /// On the machine of the user: any URL that this machine reaches.
    Here,
}

/// A text to copy; `{key}` in it is to be replaced by an MCP key.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snippet {
    /// What the text is, or the file it belongs into.
    pub label: String,
    /// `text`, `shell`, `json` or `toml`.
    pub language: String,
    /// The text to copy, with the URL of this server.
    pub text: String,
}

/// A link to open.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What happens when the link is opened.
    pub label: String,
    /// The URL, with a scheme of the app.
    pub url: String,
}

/// Returns the assistants, with their texts for the MCP server at this URL, in the order in which they are shown.
pub fn all(mcp: &str) -> Vec<Assistant> {
    let vscode = json!({ "name": "carrel", "type": "http", "url": mcp }).to_string();
    let vscode = utf8_percent_encode(&vscode, NON_ALPHANUMERIC).to_string();
    let cursor = STANDARD.encode(json!({ "url": mcp }).to_string());
    let cursor = utf8_percent_encode(&cursor, NON_ALPHANUMERIC).to_string();
    let fill = |text: &mut String| {
        *text = text.replace("{mcp}", mcp).replace("{vscode}", &vscode).replace("{cursor}", &cursor);
    };
    let mut all = ASSISTANTS.assistants.clone();
    for assistant in &mut all {
        assistant.snippets.iter_mut().for_each(|snippet| fill(&mut snippet.text));
        assistant.links.iter_mut().for_each(|link| fill(&mut link.url));
    }
    all
}

/// Returns which of the assistants a client with this name is; `None` if the name does not tell.
pub fn assistant_of_client<'a>(assistants: &'a [Assistant], client: &str) -> Option<&'a Assistant> {
    let client = client.to_lowercase();
    let matched = |one: &Assistant| {
        one.client_names.iter().filter(|name| client.contains(name.as_str())).map(String::len).max()
    };
    // The longest name: that of Claude is a part of that of Claude Code.
    let found = assistants.iter().filter_map(|one| Some((matched(one)?, one)));
    found.max_by_key(|(length, _)| *length).map(|(_, one)| one)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const MCP: &str = "https://carrel.example/mcp";

    #[test]
    fn texts_have_the_url_and_no_placeholder_but_the_key() {
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
    fn client_is_recognised_by_the_longest_name() {
        let all = all(MCP);
        let id = |client: &str| assistant_of_client(&all, client).map(|one| one.id.as_str());

        assert_eq!(id("Claude"), Some("claude"));
        assert_eq!(id("Claude Code (carrel)"), Some("claude-code"));
        assert_eq!(id("claude-code/2.1"), Some("claude-code"));
        assert_eq!(id("codex-mcp-client/0.1"), Some("codex"));
        assert_eq!(id("Heron"), None);
    }

    #[test]
    fn install_links_have_the_form_that_editors_read() {
        let all = all(MCP);
        let link =
            |id: &str| url::Url::parse(&all.iter().find(|one| one.id == id).unwrap().links[0].url).unwrap();

        let vscode = link("vscode");
        let decoded = percent_encoding::percent_decode_str(vscode.query().unwrap()).decode_utf8().unwrap();
        let config: serde_json::Value = serde_json::from_str(&decoded).unwrap();
        assert_eq!(config, json!({ "name": "carrel", "type": "http", "url": MCP }));

        let cursor = link("cursor");
        let config = cursor.query_pairs().find(|(name, _)| name == "config").unwrap().1.into_owned();
        let config: serde_json::Value = serde_json::from_slice(&STANDARD.decode(config).unwrap()).unwrap();
        assert_eq!(config, json!({ "url": MCP }));
    }
}
