//! README's tables name what there is: every route of REST, every code, every setting, every command.

#![expect(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::path::Path;

use carrel::{cli, openapi, rest};

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The rows of README's tables.
fn rows() -> Vec<String> {
    read("README.md").lines().filter(|line| line.starts_with("| ")).map(str::to_owned).collect()
}

/// Which of these README does not say.
fn unsaid<T: std::fmt::Debug>(all: impl Iterator<Item = T>, says: impl Fn(&str, &T) -> bool) -> Vec<T> {
    let rows = rows();
    all.filter(|one| !rows.iter().any(|row| says(row, one))).collect()
}

#[test]
fn every_route_of_rest_is_named() {
    let routes = rest::V1.iter().chain(rest::V2).map(|route| route.name);

    // One row may name several methods of a path: `GET`, `PATCH`, `DELETE /bookmarks/:id`.
    let left = unsaid(routes, |row, name| {
        let (method, path) = name.split_once(' ').unwrap();
        let first = row.split('|').nth(1).unwrap();
        first.contains(&format!("{path}`")) && first.contains(method)
    });

    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn every_code_stands_with_its_status() {
    let codes = openapi::CODES.iter().map(|code| format!("| {} | `{}` |", code.status, code.name));

    let left = unsaid(codes, |row, begins| row.starts_with(begins));

    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn every_setting_is_named() {
    let file: toml::Table = toml::from_str(&read("config/default.toml")).unwrap();
    let mut names = Vec::new();
    collect("", &file, &mut names);
    assert!(names.len() > 30, "{names:?}");

    // The numbers of a plan are named together, in one row.
    let left = unsaid(names.into_iter(), |row, name| match name.strip_prefix("plans.") {
        Some(of_plan) => row.contains("`plans.PLAN.*`") && row.contains(of_plan.split('.').nth(1).unwrap()),
        None => row.split('|').nth(1).unwrap().contains(&format!("`{name}`")),
    });

    assert!(left.is_empty(), "{left:#?}");
}

fn collect(above: &str, table: &toml::Table, names: &mut Vec<String>) {
    for (key, value) in table {
        let name = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value.as_table() {
            Some(table) => collect(&name, table, names),
            None => names.push(name),
        }
    }
}

#[test]
fn every_command_is_named() {
    let command = cli::command();
    let mut names: Vec<(String, String)> = Vec::new();
    for one in command.get_subcommands() {
        let own = one.get_name().to_owned();
        names.extend(one.get_subcommands().map(|below| (own.clone(), below.get_name().to_owned())));
        names.push((own, String::new()));
    }
    assert!(names.len() > 15, "{names:?}");

    // One row names what stands below a command: `key create`, `list`, `revoke`.
    let left = unsaid(names.into_iter(), |row, (own, below)| {
        let first = row.split('|').nth(1).unwrap().trim();
        let starts = [format!("`{own} "), format!("`{own}`")].iter().any(|start| first.starts_with(start));
        starts && [' ', '`'].iter().any(|before| first.contains(&format!("{before}{below}")))
    });

    assert!(left.is_empty(), "{left:#?}");
}
