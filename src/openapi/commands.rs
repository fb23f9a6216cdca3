//! The shell commands of the page: the example requests, and the variables from which they take the API key, ids and other
//! values of the reader's library.

use serde_json::Value;

/// A shell variable of the example requests.
#[derive(Debug)]
pub struct ExampleVariable {
    /// The name, without a dollar sign.
    pub name: &'static str,
    /// A description for the page.
    pub about: &'static str,
    /// The lines that set the variable, with `{server}` for the base URL. They call the functions of [`FUNCTIONS`], and read only
    /// variables that are listed earlier.
    lines: &'static str,
}

/// The functions that the commands call: `api` sends a request, and `pick` prints the first member of this name in its response, in
/// which the members have the order of the types of the replies.
// `pick` cuts the text, because curl cannot read JSON, and few systems have a program that can. A quote within a string is escaped,
// so no string contains what `grep` finds.
pub const FUNCTIONS: &str = r#"api() { curl -s -H "Authorization: Bearer $CARREL_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { grep -o '"'"$1"'":"[^"]*"' | head -n 1 | cut -d '"' -f 4; }"#;

/// The programs besides curl that [`FUNCTIONS`] runs, as the page names them.
pub const PROGRAMS: &str = "grep, head and cut";

/// The variables, in the order in which they are set. The commands create objects of their own where an example changes or deletes
/// one, so that a reader who copies everything loses nothing.
pub const VARIABLES: [ExampleVariable; 12] = [
    ExampleVariable {
        name: "CARREL_KEY",
        about: "An API key. One for all examples: carrel key create --kind rest --name docs, with --scope for each of read:library \
                ask:library read:projects write:projects write:uploads read:bookmarks write:bookmarks read:collections \
                write:collections read:feeds write:feeds read:entries read:user.",
        lines: "CARREL_KEY='pk_...'",
    },
    ExampleVariable {
        name: "BOOKMARK_ID",
        about: "A new bookmark with a text of one sentence. It is processed for a few seconds before its text can be read.",
        lines: r#"BOOKMARK_ID=$(api "{server}/rest/v1/bookmarks" \
  -d '{"url": "https://example.com/scent", "text": "the shortest way is found by scent"}' | pick bookmarkId)"#,
    },
    ExampleVariable {
        name: "DOCUMENT_ID",
        about: "The document of that bookmark.",
        lines: r#"DOCUMENT_ID=$(api "{server}/rest/v1/bookmarks/$BOOKMARK_ID" | pick documentId)"#,
    },
    ExampleVariable {
        name: "TAG",
        about: "A tag of that bookmark. Set it again after an example has renamed or deleted it.",
        lines: r#"TAG=example-tag
api "{server}/rest/v1/bookmarks/$BOOKMARK_ID" -X PATCH -d '{"tags": ["'"$TAG"'"]}' >/dev/null"#,
    },
    ExampleVariable {
        name: "HIGHLIGHT_ID",
        about: "A new highlight in that bookmark.",
        lines: r#"HIGHLIGHT_ID=$(api "{server}/rest/v1/bookmarks/$BOOKMARK_ID/highlights" \
  -d '{"text": "the shortest", "startOffset": 0, "endOffset": 12}' | pick highlightId)"#,
    },
    ExampleVariable {
        name: "COLLECTION_ID",
        about: "A new collection.",
        lines: r#"COLLECTION_ID=$(api "{server}/rest/v1/collections" -d '{"name": "ants"}' | pick collectionId)"#,
    },
    ExampleVariable {
        name: "PROJECT_ID",
        about: "The project that was active most recently. The command carrel project create creates one.",
        lines: r#"PROJECT_ID=$(api "{server}/rest/v2/projects?limit=1" | pick id)"#,
    },
    ExampleVariable {
        name: "FEED_URL",
        about: "The URL of a feed, best of a podcast, because one example transcribes an entry.",
        lines: "FEED_URL='https://...'",
    },
    ExampleVariable {
        name: "FEED_ID",
        about: "That feed. The command follows it.",
        lines: r#"FEED_ID=$(api "{server}/rest/v1/feeds" -d '{"url": "'"$FEED_URL"'"}' | pick feedId)"#,
    },
    ExampleVariable {
        name: "ENTRY_ID",
        about: "The latest entry of that feed.",
        lines: r#"ENTRY_ID=$(api "{server}/rest/v1/entries?feedId=$FEED_ID&limit=1" | pick entryId)"#,
    },
    ExampleVariable {
        name: "UPLOAD_ID",
        about: "A new upload whose file has arrived. The file has four bytes and is no recording, so it cannot be transcribed.",
        lines: r#"UPLOAD=$(api "{server}/rest/v2/uploads" \
  -d '{"filename": "lecture.mp3", "contentType": "audio/mpeg", "bytes": 4}')
curl -s -X PUT "$(printf '%s\n' "$UPLOAD" | pick putUrl)" -H 'Content-Type: audio/mpeg' -d test
UPLOAD_ID=$(printf '%s\n' "$UPLOAD" | pick uploadId)"#,
    },
    ExampleVariable {
        name: "RECORDING_ID",
        about: "The document of the newest audio recording, which a completed upload creates.",
        lines: r#"RECORDING_ID=$(api "{server}/rest/v1/bookmarks?contentType=audio&limit=1" | pick documentId)"#,
    },
];

impl ExampleVariable {
    /// Returns the command that sets the variable from the server with this base URL.
    pub fn command(&self, server: &str) -> String {
        self.lines.replace("{server}", &escape(server))
    }
}

/// Returns the request of an operation as a shell command that curl sends, with [`VARIABLES`] for the parameters of the path and the
/// ids of the body, and with examples for the required parameters of the query.
pub fn request(method: &str, pattern: &str, described: &Value, server: &str) -> String {
    let url = format!("{}{}{}", escape(server), path(pattern), query(described));
    let method = if method == "get" { String::new() } else { format!("-X {} ", method.to_uppercase()) };
    let mut command = format!("curl {method}\"{url}\" \\\n  -H \"Authorization: Bearer $CARREL_KEY\"");
    let body = described.pointer("/requestBody/content/application~1json/example");
    if let Some(body) = body.filter(|body| body.as_object().is_some_and(|members| !members.is_empty())) {
        let body = format!("{:#}", with_variables(pattern, "", body));
        command.push_str(" \\\n  -H 'Content-Type: application/json' \\\n  -d ");
        command.push_str(&quote(&body));
    }
    command
}

/// Returns the path with variables for its parameters. A parameter without a variable stays as it is.
fn path(pattern: &str) -> String {
    let mut segment = "";
    let mut filled = String::new();
    for part in pattern.split('/').skip(1) {
        filled.push('/');
        match variable_of_parameter(pattern, segment).filter(|_| part.starts_with('{')) {
            Some(name) => {
                filled.push('$');
                filled.push_str(name);
            }
            None => filled.push_str(part),
        }
        segment = part;
    }
    filled
}

/// Returns the name of the variable for the parameter of a path that follows this segment.
fn variable_of_parameter(pattern: &str, segment: &str) -> Option<&'static str> {
    let name = match segment {
        "bookmarks" => "BOOKMARK_ID",
        "collections" => "COLLECTION_ID",
        // No other document has a transcript.
        "documents" if pattern.ends_with("/transcript") => "RECORDING_ID",
        "documents" => "DOCUMENT_ID",
        "entries" => "ENTRY_ID",
        "feeds" => "FEED_ID",
        "highlights" => "HIGHLIGHT_ID",
        "projects" => "PROJECT_ID",
        "tags" => "TAG",
        "uploads" => "UPLOAD_ID",
        _ => return None,
    };
    Some(name)
}

/// Returns the name of the variable for a member of this name in a body.
fn variable_of_member(pattern: &str, name: &str) -> Option<&'static str> {
    match name {
        "bookmarkId" => Some("BOOKMARK_ID"),
        "feedId" => Some("FEED_ID"),
        // The URL of the other examples is that of a page, not of a feed.
        "url" if pattern.starts_with("/rest/v1/feeds") => Some("FEED_URL"),
        _ => None,
    }
}

/// Returns the required parameters of the query with their examples, after a question mark; empty if none is required.
fn query(described: &Value) -> String {
    let parameters = described["parameters"].as_array().into_iter().flatten();
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for parameter in parameters.filter(|part| part["in"] == "query" && part["required"] == true) {
        let (name, example) = (&parameter["name"], &parameter["example"]);
        let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
        query.append_pair(name.as_str().unwrap_or_default(), &example);
    }
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

/// Returns the example of a body, or of a member of this name in it, with `$NAME` for each value that a variable replaces.
fn with_variables(pattern: &str, name: &str, example: &Value) -> Value {
    match example {
        Value::Object(members) => {
            let members = members.iter();
            Value::Object(
                members.map(|(name, part)| (name.clone(), with_variables(pattern, name, part))).collect(),
            )
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| with_variables(pattern, name, item)).collect())
        }
        Value::String(_) => variable_of_member(pattern, name)
            .map_or_else(|| example.clone(), |variable| Value::String(format!("${variable}"))),
        Value::Null | Value::Bool(_) | Value::Number(_) => example.clone(),
    }
}

/// Quotes a JSON text as one word of a shell, in which the shell expands the strings that are one of [`VARIABLES`].
fn quote(json: &str) -> String {
    // A quote cannot be escaped within single quotes: the word ends, an escaped quote follows, and the word goes on.
    let word = format!("'{}'", json.replace('\'', r"'\''"));
    VARIABLES.iter().fold(word, |word, variable| {
        let string = format!("\"${}\"", variable.name);
        // Outside of the single quotes, and in double quotes of the shell beside those of JSON.
        word.replace(&string, &format!("\"'{string}'\""))
    })
}

/// Escapes a text for use within double quotes of a shell.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '"' | '$' | '\\' | '`') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::openapi::document;

    const SERVER: &str = "https://carrel.example";

    /// The example requests of all operations, with their methods and paths.
    fn requests(document: &Value) -> Vec<(String, String)> {
        let paths = document["paths"].as_object().unwrap().iter();
        let each = paths.flat_map(|(path, methods)| {
            methods.as_object().unwrap().iter().map(move |(method, described)| {
                (format!("{method} {path}"), request(method, path, described, SERVER))
            })
        });
        each.collect()
    }

    /// The names of the variables that a shell expands in a command.
    fn variables_in(command: &str) -> Vec<&str> {
        let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
        let expanded = command.split('$').skip(1).map(|rest| rest.split(|c| !is_name(c)).next().unwrap());
        expanded.filter(|name| !name.is_empty()).collect()
    }

    #[test]
    fn example_request_has_variables_for_all_ids() {
        for (operation, command) in requests(&document(SERVER)) {
            assert!(command.contains("\"Authorization: Bearer $CARREL_KEY\""), "{operation}: {command}");
            assert!(!command.contains("01920c4e-"), "{operation} has an id of no library: {command}");
            let url = command.split('"').nth(1).unwrap();
            assert!(!url.contains(['{', '}']), "{operation} needs a variable: {command}");
            for name in variables_in(&command) {
                assert!(VARIABLES.iter().any(|variable| variable.name == name), "{operation}: {name}");
            }
        }
    }

    #[test]
    fn every_variable_is_in_an_example_request() {
        let commands: Vec<String> =
            requests(&document(SERVER)).into_iter().map(|(_, command)| command).collect();

        for ExampleVariable { name, .. } in VARIABLES {
            assert!(commands.iter().any(|command| variables_in(command).contains(&name)), "{name}");
        }
    }

    #[test]
    fn command_of_a_variable_reads_only_earlier_ones() {
        let mut known = vec!["UPLOAD"];
        for variable in VARIABLES {
            let command = variable.command(SERVER);

            assert!(command.contains(&format!("{}=", variable.name)), "{command}");
            assert!(!command.contains("{server}"), "{command}");
            known.push(variable.name);
            for read in variables_in(&command) {
                assert!(known.contains(&read), "{command}");
            }
        }
    }

    #[test]
    fn example_request_is_quoted_for_a_shell() {
        let document = document(SERVER);
        let example =
            |method: &str, path: &str| request(method, path, &document["paths"][path][method], SERVER);

        assert_eq!(
            example("get", "/rest/v2/search"),
            "curl \"https://carrel.example/rest/v2/search?q=how+do+ants+find+their+way\" \\\n  -H \"Authorization: Bearer $CARREL_KEY\""
        );
        assert_eq!(
            example("post", "/rest/v2/projects/{id}/items"),
            r#"curl -X POST "https://carrel.example/rest/v2/projects/$PROJECT_ID/items" \
  -H "Authorization: Bearer $CARREL_KEY" \
  -H 'Content-Type: application/json' \
  -d '{
  "items": [
    {
      "bookmarkId": "'"$BOOKMARK_ID"'"
    }
  ]
}'"#
        );
    }

    #[test]
    fn page_names_every_program_that_the_functions_run() {
        // A program follows the brace of a function or a pipe.
        let run = FUNCTIONS.split(['{', '|']).skip(1).filter_map(|rest| rest.split_whitespace().next());

        let named = PROGRAMS.split([',', ' ']).filter(|word| !word.is_empty() && *word != "and");
        assert_eq!(run.collect::<Vec<_>>(), ["curl"].into_iter().chain(named).collect::<Vec<_>>());
    }

    #[test]
    fn pick_prints_the_first_member_of_its_name() {
        let reply = r#"{"note":"an \"id\":\"none\"","id":"first","items":[{"id":"second"}]}"#;
        let script = format!("{FUNCTIONS}\nprintf '%s' '{reply}' | pick id");

        let output = Command::new("sh").args(["-c", &script]).output().unwrap();

        assert_eq!(String::from_utf8_lossy(&output.stdout), "first\n", "{output:?}");
    }

    #[test]
    fn word_of_a_shell_may_hold_quotes_and_dollars() {
        assert_eq!(quote("an ant's method for $5"), r"'an ant'\''s method for $5'");
        assert_eq!(escape(r#"a"$b`\"#), r#"a\"\$b\`\\"#);
    }
}
