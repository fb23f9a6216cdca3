//! The rules about names: types say what they are, constants their subject and unit, tests what they expect.

use std::collections::BTreeMap;

use super::sources::{Crate, Declaration, File, Module};

/// Words that name no concept of the domain.
const VAGUE_TYPES: [&str; 51] = [
    "Told", "Said", "Given", "Asked", "Found", "Kept", "Became", "Took", "Made", "Left", "Held", "Taken",
    "Counted", "Shown", "Brought", "Marked", "Known", "Coming", "Gone", "Done", "Then", "There", "Beside",
    "Which", "Whose", "Who", "What", "Way", "Means", "At", "Room", "Desk", "Bench", "Care", "Place",
    "Places", "Wanted", "Chosen", "Named", "Fresh", "Saved", "Door", "Letter", "Beat", "Walk", "Chore",
    "Whole", "Do", "Put", "Unknown", "Hold",
];

/// Words that tests use for what they set up and do, instead of its name.
const VAGUE_TEST_TYPES: [&str; 6] = ["Scene", "World", "Step", "Case", "Setup", "Thing"];

/// Words that say no subject of a constant.
const VAGUE_CONSTANTS: [&str; 20] = [
    "MOST",
    "LONGEST",
    "LITTLE",
    "SOON",
    "AGAIN",
    "SOME",
    "MANY",
    "KEPT",
    "HELD",
    "AT_ONCE",
    "SHORTEST",
    "LEAST",
    "DEEPEST",
    "PATIENT",
    "NEVER",
    "WHOLE",
    "REPLACED",
    "REPORTED",
    "UNCOUNTED",
    "INTERRUPTED",
];

/// Doc comments that say nothing.
const STOCK_PHRASES: [&str; 7] = [
    "/// See the file's head.",
    "/// See the module.",
    "/// Of this text.",
    "/// Those of a request.",
    "/// The database.",
    // The chapter of the crate says this for all functions.
    "/// What [`DbErr`](sea_orm::DbErr) converts to when the database fails.",
    "/// What [`DbErr`] converts to when the database fails.",
];

/// A test is found by its name, and read in a list of many.
const MAX_TEST_NAME_CHARS: usize = 60;

/// Formats where a module declares an item.
fn place(module: &Module, declared: &Declaration) -> String {
    format!("{}:{}", module.file, declared.line)
}

/// Returns the types whose name is one of the vague words, each with its file and line.
pub fn vague_types(of: &Crate) -> Vec<String> {
    types_named(of, &VAGUE_TYPES)
}

/// Returns the types of tests whose name is one of the vague words, each with its file and line.
pub fn vague_test_types(of: &Crate) -> Vec<String> {
    let mut found = types_named(of, &VAGUE_TYPES);
    found.extend(types_named(of, &VAGUE_TEST_TYPES));
    found
}

fn types_named(of: &Crate, words: &[&str]) -> Vec<String> {
    let is_vague = |declared: &&Declaration| words.contains(&declared.name.as_str());
    of.modules
        .values()
        .flat_map(|module| {
            let vague = module.types.iter().filter(is_vague);
            vague.map(move |declared| format!("{}: {}", place(module, declared), declared.name))
        })
        .collect()
}

/// Returns the constants that do not say what they are of, each with its file and line.
pub fn vague_constants(of: &Crate) -> Vec<String> {
    let is_vague = |name: &str| {
        VAGUE_CONSTANTS
            .iter()
            .any(|word| name.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')))
    };
    of.modules
        .values()
        .flat_map(|module| {
            let vague = module.constants.iter().filter(|declared| is_vague(&declared.name));
            vague.map(move |declared| format!("{}: {}", place(module, declared), declared.name))
        })
        .collect()
}

/// Returns the types that a crate declares more than once, with the file and line of each declaration. `local` are
/// names that modules of one shape share.
pub fn repeated_types(of: &Crate, local: &[&str]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for module in of.modules.values() {
        for declared in module.types.iter().filter(|declared| !local.contains(&declared.name.as_str())) {
            places.entry(&declared.name).or_default().push(place(module, declared));
        }
    }
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
    repeated.map(|(name, places)| format!("{name}: {}", places.join(", "))).collect()
}

/// Returns the lines with a doc comment that says nothing.
pub fn stock_phrases(file: &File) -> Vec<String> {
    file.lines_where(|line| STOCK_PHRASES.contains(&line.trim()))
}

/// Returns the tests whose names are too long.
pub fn long_test_names(file: &File) -> Vec<String> {
    let lines: Vec<&str> = file.content.lines().map(str::trim).collect();
    let is_test = |at: usize| {
        let attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
        attributes.into_iter().any(|line| line.contains("test]") || line.contains("test("))
    };
    lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| {
            let signature = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
            let name = signature.split(['(', '<']).next()?;
            (name.len() > MAX_TEST_NAME_CHARS && is_test(at))
                .then(|| format!("{}:{}: {name}", file.name, at + 1))
        })
        .collect()
}
