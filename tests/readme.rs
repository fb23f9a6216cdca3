//! README.md and the operator's manual (config/README.md) say what is true: the manual's tables name every route, error code,
//! setting, command, metric, tool, scope and import format; README names every crate; and each path, item and link in both exists.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use actors::operation::Operation;
use actors::operations::bookmarks::AddBookmark;
use actors::operations::document::ReadDocument;
use actors::operations::notes::CreateNote;
use actors::operations::projects::{ListProjects, ReadContext};
use actors::operations::search::Search;
use carrel::routing::{Route, undescribed};
use carrel::{app, cli, mcp, openapi, rest};
use database::library_counts::ROW_BYTES;
use parse::bookmarks::Format;
use values::scope::Scope;

const README: &str = "README.md";
const MANUAL: &str = "config/README.md";
/// A code span that begins with one of these is a path of the repository.
const PATH_PREFIXES: [&str; 7] = [".ci/", "actors/", "config/", "entity/", "migration/", "src/", "tests/"];
/// How an item begins that a code span `PATH::ITEM` names.
const ITEM_KEYWORDS: [&str; 5] = ["const", "enum", "fn", "static", "struct"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

fn default_settings() -> toml::Table {
    toml::from_str(&read("config/default.toml")).unwrap()
}

/// The rows of the manual's tables.
fn rows() -> Vec<String> {
    read(MANUAL).lines().filter(|line| line.starts_with("| ")).map(str::to_owned).collect()
}

/// A cell of a row, the first one being 1.
fn cell(row: &str, index: usize) -> &str {
    row.split('|').nth(index).unwrap_or_default().trim()
}

/// The items that no row of the manual states.
fn missing<T: Debug>(items: impl Iterator<Item = T>, states: impl Fn(&str, &T) -> bool) -> Vec<T> {
    let rows = rows();
    items.filter(|item| !rows.iter().any(|row| states(row, item))).collect()
}

/// The lines of a Markdown text outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The code spans of a Markdown text.
fn code_spans(text: &str) -> Vec<&str> {
    prose(text).flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

/// The targets of the relative links of a Markdown text.
fn relative_links(text: &str) -> Vec<&str> {
    let targets = prose(text).flat_map(|line| line.split("](").skip(1));
    targets
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.starts_with("https://") && !target.starts_with("http://"))
        .collect()
}

/// The anchor that a heading has: lower case, hyphens for spaces, no other punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn manual_names_every_route() {
    let routes = undescribed(rest::V1).chain(undescribed(rest::V2)).chain(app::ROUTES).map(Route::name);

    // One row may name several methods of a path: `GET`, `PATCH`, `DELETE /bookmarks/:id`.
    let left = missing(routes, |row, name| {
        let (method, path) = name.split_once(' ').unwrap();
        cell(row, 1).contains(&format!("{path}`")) && cell(row, 1).contains(method)
    });

    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn manual_states_every_error_code_with_its_status() {
    let codes = openapi::CODES.iter().map(|code| format!("| {} | `{}` |", code.status, code.name));

    let left = missing(codes, |row, begins| row.starts_with(begins));

    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn manual_states_every_setting_with_its_default() {
    let mut settings = Vec::new();
    collect("", &default_settings(), &mut settings);
    settings.retain(|(name, _)| !name.starts_with("plans."));
    assert!(settings.len() > 30, "{settings:?}");

    let left = missing(settings.into_iter(), |row, (name, default)| {
        cell(row, 1) == format!("`{name}`") && cell(row, 2).contains(default.as_str())
    });

    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn manual_states_the_bytes_of_a_row() {
    assert!(read(MANUAL).contains(&format!("counts {ROW_BYTES} bytes more")));
}

/// The names of all settings, each with its default; an empty one where the default is none.
fn collect(above: &str, table: &toml::Table, settings: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let name = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value {
            toml::Value::Table(table) => collect(&name, table, settings),
            toml::Value::String(text) => settings.push((name, text.clone())),
            toml::Value::Array(items) if items.is_empty() => settings.push((name, String::new())),
            toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_) => settings.push((name, value.to_string())),
        }
    }
}

#[test]
fn manual_states_every_number_of_the_plans() {
    let settings = default_settings();
    let plans = settings.get("plans").unwrap().as_table().unwrap();
    let number = |plan: &str, name: &str| plans.get(plan).unwrap().get(name).unwrap().as_integer().unwrap();
    let names: Vec<&String> = plans.get("free").unwrap().as_table().unwrap().keys().collect();
    assert!(names.len() > 10, "{names:?}");

    let left = missing(names.into_iter(), |row, name| {
        let numbers = ["free", "pro", "research"].map(|plan| plan_number(name, number(plan, name)));
        row.ends_with(&format!("| `{name}` | {} |", numbers.join(" | ")))
    });

    assert!(left.is_empty(), "{left:#?}");
}

/// A number as the table of the plans shows it: bytes in GiB, other numbers with commas.
fn plan_number(name: &str, number: i64) -> String {
    const GIB: i64 = 1 << 30;
    if name.ends_with("_bytes") && number > 0 {
        assert_eq!(number % GIB, 0, "{name}");
        return format!("{} GiB", number / GIB);
    }
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[test]
fn manual_names_every_command() {
    let command = cli::command();
    let mut names: Vec<(String, String)> = Vec::new();
    for one in command.get_subcommands() {
        let own = one.get_name().to_owned();
        names.extend(one.get_subcommands().map(|below| (own.clone(), below.get_name().to_owned())));
        names.push((own, String::new()));
    }
    assert!(names.len() > 15, "{names:?}");

    // One row names the subcommands of a command: `key create`, `list`, `revoke`.
    let left = missing(names.into_iter(), |row, (own, below)| {
        let first = cell(row, 1);
        let starts = [format!("`{own} "), format!("`{own}`")].iter().any(|start| first.starts_with(start));
        starts && [' ', '`'].iter().any(|before| first.contains(&format!("{before}{below}")))
    });

    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn manual_names_every_metric() {
    let mut names = Vec::new();
    for folder in ["src", "actors"] {
        collect_metrics(&root().join(folder), &mut names);
    }
    assert!(names.len() > 10, "{names:?}");

    let left = missing(names.into_iter(), |row, name| cell(row, 1).contains(&format!("`{name}`")));

    assert!(left.is_empty(), "{left:#?}");
}

/// Collects the names of the metrics that the sources below a folder record. A metric exists only once it is recorded, so a running
/// server does not list all of them.
fn collect_metrics(folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_metrics(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            for call in ["counter!(", "gauge!(", "histogram!("] {
                names.extend(source.split(call).skip(1).map(metric_name));
            }
        }
    }
}

/// Returns the name of a metric, which is a literal at the beginning of the arguments.
fn metric_name(arguments: &str) -> String {
    let literal = arguments.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next());
    literal.unwrap().to_owned()
}

#[test]
fn manual_names_every_tool() {
    // The table of tools has no weights: they are those of the operations.
    let weights = [
        ("search_library", Search::WEIGHT),
        ("get_document", ReadDocument::WEIGHT),
        ("list_projects", ListProjects::WEIGHT),
        ("get_project_context", ReadContext::WEIGHT),
        ("add_bookmark", AddBookmark::WEIGHT),
        ("create_note", CreateNote::WEIGHT),
    ];
    assert_eq!(mcp::TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>(), weights.map(|(name, _)| name));

    let left = missing(weights.into_iter(), |row, (name, weight)| {
        let number = cell(row, 4).split(' ').next();
        cell(row, 1) == format!("`{name}`") && number == Some(weight.to_string().as_str())
    });

    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn manual_names_every_scope_and_import_format() {
    let names = Scope::ALL.iter().map(|scope| scope.name()).chain(Format::NAMES.iter().copied());

    let left = missing(names, |row, name| cell(row, 1).contains(&format!("`{name}`")));

    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn readme_names_every_crate() {
    let readme = read(README);
    let folders = fs::read_dir(root().join("actors/crates")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path());
    let crates = folders.filter(|path| path.join("Cargo.toml").is_file());
    let names = crates.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    let names: Vec<String> = names.collect();
    assert!(names.len() > 5, "{names:?}");

    // One row may name several crates that belong together.
    let rows = prose(&readme).filter(|line| line.starts_with("| "));
    let named: Vec<&str> = rows.flat_map(|row| code_spans(cell(row, 1))).collect();
    let left: Vec<_> =
        names.iter().filter(|name| !named.contains(&format!("actors/crates/{name}/").as_str())).collect();

    assert!(left.is_empty(), "README's table of folders lacks {left:?}");
}

#[test]
fn paths_and_items_in_readme_and_manual_exist() {
    let mut left = Vec::new();
    for document in [README, MANUAL] {
        let text = read(document);
        for span in code_spans(&text) {
            if PATH_PREFIXES.iter().any(|prefix| span.starts_with(prefix)) && !exists(span) {
                left.push(format!("{document}: {span}"));
            }
        }
    }
    assert!(left.is_empty(), "{left:#?}");
}

/// Returns whether `PATH` exists, and for `PATH::ITEM` whether that file defines the item.
fn exists(span: &str) -> bool {
    match span.split_once("::") {
        None => root().join(span).exists(),
        Some((path, item)) => {
            let source = fs::read_to_string(root().join(path)).unwrap_or_default();
            ITEM_KEYWORDS.iter().any(|keyword| defines(&source, &format!("{keyword} {item}")))
        }
    }
}

/// Returns whether a source holds this definition, and not only one whose name begins with it.
fn defines(source: &str, definition: &str) -> bool {
    source.split(definition).skip(1).any(|rest| {
        let next = rest.chars().next();
        !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[test]
fn links_in_readme_and_manual_resolve() {
    let mut left = Vec::new();
    for document in [README, MANUAL] {
        let text = read(document);
        for target in relative_links(&text) {
            if !is_reachable(document, target) {
                left.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(left.is_empty(), "{left:#?}");
}

/// Returns whether the file of a relative link exists, and in it the heading of its anchor.
fn is_reachable(document: &str, target: &str) -> bool {
    let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
    let own = root().join(document);
    let path = if file.is_empty() { own } else { own.parent().unwrap_or(Path::new("")).join(file) };
    if fragment.is_empty() {
        return path.exists();
    }
    let text = fs::read_to_string(path).unwrap_or_default();
    prose(&text).filter(|line| line.starts_with('#')).any(|heading| anchor(heading) == fragment)
}

#[test]
fn code_spans_and_links_in_code_blocks_are_ignored() {
    let text = "A `span` and a [link](x.md#y).\n```sh\n`command` [no](link)\n```\n| `row` | [b](https://b.example) |\n";

    assert_eq!(code_spans(text), ["span", "row"]);
    assert_eq!(relative_links(text), ["x.md#y"]);
    assert_eq!(anchor("## A lost, or damaged index"), "a-lost-or-damaged-index");
    assert!(defines("pub fn run(", "fn run") && !defines("fn runs()", "fn run"));
}
