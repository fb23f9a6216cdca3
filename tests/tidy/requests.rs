//! The rule on requests that are parts of others: only the rules of the outer request are checked, so a part must not have any.

use super::sources::{File, rust_files};

/// Returns the declarations of requests in a source, except those of its tests.
fn request_declarations(source: &str) -> impl Iterator<Item = &str> {
    source.split("\nrequest! {\n").skip(1).filter_map(|rest| rest.split("\n}\n").next())
}

/// Returns the name of a declared request that has rules between its fields.
fn name_if_it_has_rules(declaration: &str) -> Option<&str> {
    let mut lines = declaration.lines().map(str::trim_start);
    let name =
        lines.find_map(|line| line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("struct ")))?;
    let has_rules = lines.any(|line| line.starts_with('"'));
    name.split(' ').next().filter(|_| has_rules)
}

/// Returns the lines by which a request with rules becomes a part of another one: the type of a field, an alias of a type, or a call of
/// its deserialiser, each with the file.
fn nested_requests_with_rules(files: &[File]) -> Vec<String> {
    let declarations = files.iter().flat_map(|file| request_declarations(&file.content));
    let names: Vec<&str> = declarations.filter_map(name_if_it_has_rules).collect();
    let mut found = Vec::new();
    for file in files {
        let fields = request_declarations(&file.content)
            .flat_map(str::lines)
            .filter(|line| line.contains(": ") && !line.trim_start().starts_with("//"));
        // Aliases are not indented; the type of an operation's request is.
        let is_alias = |line: &str| line.starts_with("pub type ") || line.starts_with("type ");
        let is_read = |line: &str| line.contains("::deserialize_from_value(");
        let others = file.content.lines().filter(|line| is_alias(line) || is_read(line));
        for line in fields.chain(others) {
            let mut words = line.split(|c: char| !c.is_alphanumeric());
            if words.any(|word| names.contains(&word)) {
                found.push(format!("{}: {}", file.name, line.trim()));
            }
        }
    }
    found
}

#[test]
fn request_within_another_one_has_no_rules() {
    let files = rust_files();
    let declarations = files.iter().flat_map(|file| request_declarations(&file.content));
    assert!(declarations.filter_map(name_if_it_has_rules).count() > 0, "no request with rules was found");

    let wrong = nested_requests_with_rules(&files);

    assert!(wrong.is_empty(), "rules of a part of a request are not checked: {wrong:#?}");
}

#[test]
fn nested_request_with_rules_is_found_in_every_spelling() {
    let part = "\nrequest! {\n    /// A part.\n    pub struct PartRequest {\n        a?: Flag,\n        b?: Flag,\n    }\n    \
                \"a\" needs \"b\": \"needs b\";\n}\n";
    let nests = |other: &str| {
        let content = format!("//! Requests.\n{part}{other}");
        !nested_requests_with_rules(&[File { name: "src/a.rs".to_owned(), content }]).is_empty()
    };

    assert!(nests("\nrequest! {\n    struct WholeRequest {\n        part: PartRequest,\n    }\n}\n"));
    assert!(nests(
        "\nrequest! {\n    struct WholeRequest {\n        parts?: List<PartRequest, 1, 9>,\n    }\n}\n"
    ));
    assert!(nests("\npub type Parts = List<PartRequest, 1, 9>;\n"));
    assert!(nests("\nfn read() {\n    PartRequest::deserialize_from_value(value, location)\n}\n"));
    assert!(!nests("\nrequest! {\n    struct OtherRequest {\n        c: Flag,\n    }\n}\n"));
    assert!(!nests("\nimpl FromRequest for Part {\n    type Request = PartRequest;\n}\n"));
}
