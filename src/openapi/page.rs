//! The description as an HTML page, rendered from the OpenAPI document.

use askama::Template;
use serde_json::Value;

use super::commands::{self, ExampleVariable};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Renders the page of this document.
///
/// # Errors
/// [`askama::Error`] when the template cannot be rendered; no document causes that.
pub fn render(document: &Value) -> Result<String, askama::Error> {
    Page::of(document).render()
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{ title }}</title>
<link rel="stylesheet" href="docs/docs.css">
<script src="docs/docs.js" defer></script>
</head>
<body>
<a class="skip" href="#operations">Skip to the operations</a>
<header>
<h1>{{ title }} <small>{{ version }}</small></h1>
<p class="server">Base URL <code>{{ server }}</code> · <a href="openapi.json">openapi.json</a></p>
<label class="find" for="find">Find an operation
<input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="path, name, scope" aria-describedby="found">
</label>
<p id="found" role="status" aria-live="polite"></p>
</header>
<div class="columns">
<nav aria-label="Groups"><ul>
{%- for group in groups %}
<li><a href="#group-{{ group.name }}">{{ group.name }}</a></li>
{%- endfor %}
</ul></nav>
<main id="operations" tabindex="-1">
<section aria-label="About">
{%- for paragraph in about %}
<p>{{ paragraph }}</p>
{%- endfor %}
<h2>Authentication</h2>
<dl>
{%- for method in auth_methods %}
<dt>{{ method.name }}</dt><dd>{{ method.about }}</dd>
{%- endfor %}
</dl>
<h2>Examples</h2>
<p>The example requests need a shell and curl. They take the API key, ids and other values from shell variables. The commands that set the
variables also need {{ programs }}, and call these two functions:</p>
<div class="code" id="functions"><button type="button" class="copy">Copy</button><pre tabindex="0"><code>{{ functions }}</code></pre></div>
<p>Define the functions first. Then set the variables of the examples that you want to run, in this order; replace <code>...</code> with
your own value. Most of the commands create an object that the examples may change and delete. If a variable is empty, the request failed. Run
the command without <code>| pick NAME</code> to see why.</p>
<dl>
{%- for variable in variables %}
<dt><code>{{ variable.name }}</code></dt>
<dd>{{ variable.about }}
<div class="code" id="set-{{ variable.name }}"><button type="button" class="copy">Copy</button><pre tabindex="0"><code>{{ variable.command }}</code></pre></div></dd>
{%- endfor %}
</dl>
</section>
{%- for group in groups %}
<section class="group" aria-labelledby="group-{{ group.name }}">
<h2 id="group-{{ group.name }}">{{ group.name }}</h2>
{%- for op in group.operations %}
<details id="{{ op.id }}" data-words="{{ op.words }}">
<summary><span class="method {{ op.method }}">{{ op.method }}</span> <code>{{ op.path }}</code> <span class="does">{{ op.summary }}</span></summary>
{%- for paragraph in op.about %}
<p>{{ paragraph }}</p>
{%- endfor %}
{%- for table in op.tables %}
<h3>{{ table.head }}</h3>
<div class="wide" tabindex="0" role="group" aria-label="{{ table.head }}"><table>
<thead><tr><th scope="col">Name</th><th scope="col">In</th><th scope="col">Type</th><th scope="col">Description</th></tr></thead>
<tbody>
{%- for row in table.rows %}
<tr><th scope="row"><code>{{ row.name }}</code>{% if row.required %} <em>required</em>{% endif %}</th><td>{{ row.place }}</td><td>{{ row.kind }}</td><td>{{ row.about }}</td></tr>
{%- endfor %}
</tbody></table></div>
{%- endfor %}
{%- if !op.request.is_empty() %}
<h3>Example request</h3>
<div class="code" id="example-{{ op.id }}"><button type="button" class="copy">Copy</button><pre tabindex="0"><code>{{ op.request }}</code></pre></div>
{%- endif %}
<h3>Responses</h3>
<dl class="responses">
{%- for response in op.responses %}
<dt><span class="status s{{ response.class }}">{{ response.status }}</span></dt>
<dd>{% for line in response.about %}<p>{{ line }}</p>{% endfor %}
{%- if !response.example.is_empty() %}<div class="code"><button type="button" class="copy">Copy</button><pre tabindex="0"><code>{{ response.example }}</code></pre></div>{% endif %}</dd>
{%- endfor %}
</dl>
</details>
{%- endfor %}
</section>
{%- endfor %}
</main>
</div>
</body>
</html>
"##
)]
struct Page {
    title: String,
    version: String,
    server: String,
    about: Vec<String>,
    auth_methods: Vec<AuthMethod>,
    functions: &'static str,
    programs: &'static str,
    variables: Vec<Variable>,
    groups: Vec<Group>,
}

struct AuthMethod {
    name: String,
    about: String,
}

struct Variable {
    name: &'static str,
    about: &'static str,
    command: String,
}

struct Group {
    name: String,
    operations: Vec<Operation>,
}

struct Operation {
    id: String,
    method: &'static str,
    path: String,
    summary: String,
    /// The text that the search of the page matches, in lower case.
    words: String,
    about: Vec<String>,
    tables: Vec<Table>,
    request: String,
    responses: Vec<Response>,
}

struct Table {
    head: &'static str,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    place: String,
    required: bool,
    kind: String,
    about: String,
}

struct Response {
    status: String,
    /// The first digit of the status.
    class: String,
    about: Vec<String>,
    example: String,
}

impl Page {
    fn of(document: &Value) -> Self {
        let auth_methods = at(document, "/components/securitySchemes").as_object().into_iter().flatten();
        let groups = document["tags"].as_array().into_iter().flatten();
        let server = to_text(at(document, "/servers/0/url"));
        Self {
            title: to_text(at(document, "/info/title")),
            version: to_text(at(document, "/info/version")),
            about: paragraphs(at(document, "/info/description")),
            auth_methods: auth_methods
                .map(|(name, method)| AuthMethod {
                    name: name.clone(),
                    about: sentence(&method["description"]),
                })
                .collect(),
            functions: commands::FUNCTIONS,
            programs: commands::PROGRAMS,
            variables: commands::VARIABLES.iter().map(|variable| Variable::of(variable, &server)).collect(),
            groups: groups.map(|group| Group::of(&to_text(&group["name"]), document, &server)).collect(),
            server,
        }
    }
}

impl Variable {
    fn of(variable: &ExampleVariable, server: &str) -> Self {
        Self { name: variable.name, about: variable.about, command: variable.command(server) }
    }
}

impl Group {
    fn of(name: &str, document: &Value, server: &str) -> Self {
        let mut operations = Vec::new();
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            // In the order of reading, creating, changing and deleting, not in that of the document.
            for method in METHODS {
                let described = &methods[method];
                if at(described, "/tags/0").as_str() == Some(name) {
                    operations.push(Operation::of(method, path, described, document, server));
                }
            }
        }
        Self { name: name.to_owned(), operations }
    }
}

impl Operation {
    fn of(method: &'static str, path: &str, described: &Value, document: &Value, server: &str) -> Self {
        let parameters = described["parameters"].as_array().into_iter().flatten();
        let content = at(described, "/requestBody/content/application~1json");
        let responses = described["responses"].as_object().into_iter().flatten();
        let summary = to_text(&described["summary"]);
        let about = paragraphs(&described["description"]);
        Self {
            id: to_text(&described["operationId"]),
            words: format!("{method} {path} {summary} {}", about.join(" ")).to_lowercase(),
            about,
            tables: [
                Table { head: "Parameters", rows: parameters.map(Row::of_parameter).collect() },
                Table { head: "Body", rows: body_rows(&content["schema"]) },
            ]
            .into_iter()
            .filter(|table| !table.rows.is_empty())
            .collect(),
            request: commands::request(method, path, described, server),
            responses: responses
                .map(|(status, response)| Response::of(status, resolved(response, document)))
                .collect(),
            method,
            path: path.to_owned(),
            summary,
        }
    }
}

/// Returns the component that a reference points to, or the value itself.
fn resolved<'a>(value: &'a Value, document: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.map_or(value, |pointer| at(document, pointer))
}

/// Returns the fields of a body; for a body with several variants, the fields of each.
fn body_rows(schema: &Value) -> Vec<Row> {
    let mut rows = Vec::new();
    collect_rows(schema, "", &mut rows);
    rows
}

fn collect_rows(schema: &Value, within: &str, rows: &mut Vec<Row>) {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // A field of type null is one that this variant of the body must not have.
    let is_allowed = |(_, part): &(&String, &Value)| part["type"] != "null";
    for (name, part) in schema["properties"].as_object().into_iter().flatten().filter(is_allowed) {
        let whole = format!("{within}{name}");
        let place = if within.is_empty() { "body" } else { "within" };
        rows.push(Row {
            name: whole.clone(),
            place: place.to_owned(),
            required: required.contains(&name.as_str()),
            kind: kind(part),
            about: sentence(&part["description"]),
        });
        let items = &part["items"];
        collect_rows(items, &format!("{whole}[]."), rows);
        for shape in items["oneOf"].as_array().into_iter().flatten() {
            collect_rows(shape, &format!("{whole}[] ({}).", to_text(&shape["title"])), rows);
        }
    }
}

impl Row {
    fn of_parameter(parameter: &Value) -> Self {
        Self {
            name: to_text(&parameter["name"]),
            place: to_text(&parameter["in"]),
            required: parameter["required"] == true,
            kind: kind(&parameter["schema"]),
            about: sentence(&parameter["description"]),
        }
    }
}

impl Response {
    fn of(status: &str, response: &Value) -> Self {
        let example = at(response, "/content/application~1json/example");
        // All errors have the same form, so only success responses show an example.
        let example =
            if status.starts_with('2') && !example.is_null() { pretty(example) } else { String::new() };
        Self {
            status: status.to_owned(),
            class: status.chars().take(1).collect(),
            about: paragraphs(&response["description"]),
            example,
        }
    }
}

/// Summarizes a schema: `string (uuid)`, `integer, 1 to 100`, `one of a, b`.
fn kind(schema: &Value) -> String {
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(names) = schema["enum"].as_array() {
        let names: Vec<String> = names.iter().map(to_text).collect();
        return format!("one of {}", names.join(", "));
    }
    let name = match schema["type"].as_str() {
        Some("array") => format!("list of {}", kind(&schema["items"])),
        Some(name) => name.to_owned(),
        None => "object".to_owned(),
    };
    let format = schema["format"].as_str().map(|format| format!(" ({format})")).unwrap_or_default();
    format!("{name}{format}{}", bounds(schema))
}

fn bounds(schema: &Value) -> String {
    let unit = |least: &str, most: &str, of: &str| {
        let (least, most) = (schema.get(least)?, schema.get(most)?);
        Some(match most.as_i64() {
            // The largest integer stands for "no maximum", which readers need not see.
            Some(i64::MAX) => format!(", from {least}"),
            Some(_) | None => format!(", {least} to {most}{of}"),
        })
    };
    let upper = || Some(format!(", up to {} characters", schema.get("maxLength")?));
    unit("minLength", "maxLength", " characters")
        .or_else(upper)
        .or_else(|| unit("minimum", "maximum", ""))
        .or_else(|| unit("minItems", "maxItems", " items"))
        .unwrap_or_default()
}

/// Returns the value at this JSON pointer (RFC 6901); null if there is none.
fn at<'a>(within: &'a Value, pointer: &str) -> &'a Value {
    within.pointer(pointer).unwrap_or(&Value::Null)
}

/// Converts Markdown of several paragraphs to plain text.
fn paragraphs(words: &Value) -> Vec<String> {
    sentence(words).split("\n\n").map(str::to_owned).collect()
}

/// Converts Markdown, whose only marks are backticks, to plain text.
fn sentence(words: &Value) -> String {
    to_text(words).replace('`', "")
}

fn to_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned)
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openapi::document;

    #[test]
    fn page_has_every_operation_and_loads_nothing_from_other_sites() {
        let document = document("https://carrel.example");
        let page = render(&document).unwrap();

        for methods in document["paths"].as_object().unwrap().values() {
            for described in methods.as_object().unwrap().values() {
                assert!(page.contains(&format!("id=\"{}\"", described["operationId"].as_str().unwrap())));
            }
        }
        for outside in ["src=\"http", "src=\"//", "href=\"http", "<style", "style=\"", "onclick"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn page_has_the_command_of_every_variable_and_operation() {
        let document = document("https://carrel.example");
        let page = render(&document).unwrap();

        for variable in commands::VARIABLES {
            assert!(page.contains(&format!("id=\"set-{}\"", variable.name)), "{variable:?}");
        }
        for methods in document["paths"].as_object().unwrap().values() {
            for described in methods.as_object().unwrap().values() {
                let id = described["operationId"].as_str().unwrap();
                assert!(page.contains(&format!("id=\"example-{id}\"")), "{id}");
            }
        }
    }

    #[test]
    fn error_of_an_operation_is_resolved_to_its_codes() {
        let document = document("https://carrel.example");
        let page = render(&document).unwrap();

        assert!(page.contains("SCOPE_REQUIRED: "), "the codes of errors are missing");
    }

    #[test]
    fn schema_is_summarized() {
        assert_eq!(kind(&json!({ "type": "integer", "minimum": 1, "maximum": 100 })), "integer, 1 to 100");
        assert_eq!(
            kind(&json!({ "anyOf": [{ "type": "string", "format": "uuid" }, { "type": "null" }] })),
            "string (uuid) or null"
        );
        assert_eq!(kind(&json!({ "type": "array", "items": { "enum": ["a", "b"] } })), "list of one of a, b");
    }
}
