//! The rule on requests that are parts of others: only the rules of the outer request are checked, so a part must not have any.

use super::sources::{File, rust_files};

/// Returns the declarations of requests in a source, except those of its tests. The braces of a declaration are indented alike.
fn request_declarations(source: &str) -> impl Iterator<Item = &str> {
    let tested = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    tested.match_indices("request! {\n").filter_map(|(at, opening)| {
        let indent = tested[..at].rsplit('\n').next().unwrap_or_default();
        let is_declaration = indent.trim_start().is_empty();
        let body = &tested[at + opening.len()..];
        body.split(&format!("\n{indent}}}\n")).next().filter(|_| is_declaration)
    })
}

/// Returns the name of a declared request that has rules between its fields.
fn name_if_it_has_rules(declaration: &str) -> Option<&str> {
    let mut lines = declaration.lines().map(str::trim_start);
    // With any visibility, such as `pub(crate) struct`.
    let is_struct = |line: &&str| !line.starts_with("//") && !line.starts_with("#[");
    let name = lines.by_ref().filter(is_struct).find_map(|line| line.split_once("struct "))?.1;
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
        let is_alias = |line: &str| {
            line.starts_with("type ")
                || (line.starts_with("pub") && line.contains("type ") && line.contains(" = "))
        };
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
    assert!(nests("\npub(crate) type Parts = List<PartRequest, 1, 9>;\n"));
    assert!(nests("\nfn read() {\n    PartRequest::deserialize_from_value(value, location)\n}\n"));
    for part in [part.replace("pub struct", "pub(crate) struct"), part.replace('\n', "\n    ")] {
        let content = format!("//! Requests.\n{part}\ntype Parts = List<PartRequest, 1, 9>;\n");
        let found = nested_requests_with_rules(&[File { name: "src/a.rs".to_owned(), content }]);
        assert_eq!(found.len(), 1, "{part}");
    }
    assert!(!nests("\nrequest! {\n    struct OtherRequest {\n        c: Flag,\n    }\n}\n"));
    assert!(!nests("\nimpl FromRequest for Part {\n    type Request = PartRequest;\n}\n"));
}
