//! The description as a page for people: one file of HTML, made from the same document that programs get.

use askama::Template;
use serde_json::Value;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The page of this description.
///
/// # Errors
/// The template cannot be filled; nothing of the document leads to that.
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
<p class="server">Base address <code>{{ server }}</code> · <a href="openapi.json">openapi.json</a></p>
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
<h2>Being let in</h2>
<dl>
{%- for way in ways %}
<dt>{{ way.name }}</dt><dd>{{ way.about }}</dd>
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
<thead><tr><th scope="col">Name</th><th scope="col">Where</th><th scope="col">What</th><th scope="col">About</th></tr></thead>
<tbody>
{%- for row in table.rows %}
<tr><th scope="row"><code>{{ row.name }}</code>{% if row.required %} <em>required</em>{% endif %}</th><td>{{ row.place }}</td><td>{{ row.kind }}</td><td>{{ row.about }}</td></tr>
{%- endfor %}
</tbody></table></div>
{%- endfor %}
{%- if !op.request.is_empty() %}
<h3>Example of a request</h3>
<div class="code"><button type="button" class="copy">Copy</button><pre tabindex="0"><code>{{ op.request }}</code></pre></div>
{%- endif %}
<h3>Answers</h3>
<dl class="answers">
{%- for answer in op.answers %}
<dt><span class="status s{{ answer.class }}">{{ answer.status }}</span></dt>
<dd>{% for line in answer.about %}<p>{{ line }}</p>{% endfor %}
{%- if !answer.example.is_empty() %}<div class="code"><button type="button" class="copy">Copy</button><pre tabindex="0"><code>{{ answer.example }}</code></pre></div>{% endif %}</dd>
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
    ways: Vec<Way>,
    groups: Vec<Group>,
}

struct Way {
    name: String,
    about: String,
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
    /// What the search of the page looks in, in small letters.
    words: String,
    about: Vec<String>,
    tables: Vec<Table>,
    request: String,
    answers: Vec<Answer>,
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

struct Answer {
    status: String,
    /// The first digit of the status.
    class: String,
    about: Vec<String>,
    example: String,
}

impl Page {
    fn of(document: &Value) -> Self {
        let ways = at(document, "/components/securitySchemes").as_object().into_iter().flatten();
        let groups = document["tags"].as_array().into_iter().flatten();
        let server = text(at(document, "/servers/0/url"));
        Self {
            title: text(at(document, "/info/title")),
            version: text(at(document, "/info/version")),
            about: paragraphs(at(document, "/info/description")),
            ways: ways
                .map(|(name, way)| Way { name: name.clone(), about: text(&way["description"]) })
                .collect(),
            groups: groups.map(|group| Group::of(&text(&group["name"]), document, &server)).collect(),
            server,
        }
    }
}

impl Group {
    fn of(name: &str, document: &Value, server: &str) -> Self {
        let mut operations = Vec::new();
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            for method in METHODS {
                let described = &methods[method];
                if at(described, "/tags/0").as_str() == Some(name) {
                    operations.push(Operation::of(method, path, described, server));
                }
            }
        }
        Self { name: name.to_owned(), operations }
    }
}

impl Operation {
    fn of(method: &'static str, path: &str, described: &Value, server: &str) -> Self {
        let parameters = described["parameters"].as_array().into_iter().flatten();
        let content = at(described, "/requestBody/content/application~1json");
        let answers = described["responses"].as_object().into_iter().flatten();
        let summary = text(&described["summary"]);
        let about = paragraphs(&described["description"]);
        Self {
            id: text(&described["operationId"]),
            words: format!("{method} {path} {summary} {}", about.join(" ")).to_lowercase(),
            about,
            tables: [
                Table { head: "Parameters", rows: parameters.map(Row::of_parameter).collect() },
                Table { head: "Body", rows: body_rows(&content["schema"]) },
            ]
            .into_iter()
            .filter(|table| !table.rows.is_empty())
            .collect(),
            request: request(method, path, content, server),
            answers: answers.map(|(status, answer)| Answer::of(status, answer)).collect(),
            method,
            path: path.to_owned(),
            summary,
        }
    }
}

/// The request as a command of a shell.
fn request(method: &str, path: &str, content: &Value, server: &str) -> String {
    let mut said =
        format!("curl -X {} '{server}{path}' \\\n  -H 'Authorization: Bearer pk_...'", method.to_uppercase());
    if let Some(example) =
        content.get("example").filter(|example| example.as_object().is_some_and(|o| !o.is_empty()))
    {
        said.push_str(" \\\n  -H 'Content-Type: application/json' \\\n  -d '");
        said.push_str(&pretty(example).replace('\'', "'\\''"));
        said.push('\'');
    }
    said
}

/// The fields of a body; of one with several shapes, each shape's own.
fn body_rows(schema: &Value) -> Vec<Row> {
    let mut rows = Vec::new();
    gather(schema, "", &mut rows);
    rows
}

fn gather(schema: &Value, within: &str, rows: &mut Vec<Row>) {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let may_be = |(_, part): &(&String, &Value)| part["type"] != "null";
    for (name, part) in schema["properties"].as_object().into_iter().flatten().filter(may_be) {
        let whole = format!("{within}{name}");
        let place = if within.is_empty() { "body" } else { "within" };
        rows.push(Row {
            name: whole.clone(),
            place: place.to_owned(),
            required: required.contains(&name.as_str()),
            kind: kind(part),
            about: text(&part["description"]),
        });
        let items = &part["items"];
        gather(items, &format!("{whole}[]."), rows);
        for shape in items["oneOf"].as_array().into_iter().flatten() {
            gather(shape, &format!("{whole}[] ({}).", text(&shape["title"])), rows);
        }
    }
}

impl Row {
    fn of_parameter(parameter: &Value) -> Self {
        Self {
            name: text(&parameter["name"]),
            place: text(&parameter["in"]),
            required: parameter["required"] == true,
            kind: kind(&parameter["schema"]),
            about: text(&parameter["description"]),
        }
    }
}

impl Answer {
    fn of(status: &str, answer: &Value) -> Self {
        let example = at(answer, "/content/application~1json/example");
        // One failure looks like another: what is worth its room is what succeeds.
        let example =
            if status.starts_with('2') && !example.is_null() { pretty(example) } else { String::new() };
        Self {
            status: status.to_owned(),
            class: status.chars().take(1).collect(),
            about: paragraphs(&answer["description"]),
            example,
        }
    }
}

/// A shape in a few words: `string (uuid)`, `integer, 1 to 100`, `one of a, b`.
fn kind(schema: &Value) -> String {
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(names) = schema["enum"].as_array() {
        let names: Vec<String> = names.iter().map(text).collect();
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

/// What stands at this place (RFC 6901); null where nothing does.
fn at<'a>(within: &'a Value, place: &str) -> &'a Value {
    within.pointer(place).unwrap_or(&Value::Null)
}

fn paragraphs(words: &Value) -> Vec<String> {
    text(words).split("\n\n").map(|paragraph| paragraph.replace('`', "")).collect()
}

fn text(value: &Value) -> String {
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
    fn every_operation_has_its_place_on_the_page_and_nothing_comes_from_elsewhere() {
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
    fn a_shape_is_said_in_a_few_words() {
        assert_eq!(kind(&json!({ "type": "integer", "minimum": 1, "maximum": 100 })), "integer, 1 to 100");
        assert_eq!(
            kind(&json!({ "anyOf": [{ "type": "string", "format": "uuid" }, { "type": "null" }] })),
            "string (uuid) or null"
        );
        assert_eq!(kind(&json!({ "type": "array", "items": { "enum": ["a", "b"] } })), "list of one of a, b");
    }
}
