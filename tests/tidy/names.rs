//! The rules about names: types say what they are, constants their subject and unit, tests what they expect.

use std::collections::BTreeMap;

use super::sources::{Crate, File};

/// Words that name no concept of the domain.
const VAGUE_TYPES: [&str; 47] = [
    "Told", "Said", "Given", "Asked", "Found", "Kept", "Became", "Took", "Made", "Left", "Held", "Taken",
    "Counted", "Shown", "Brought", "Marked", "Known", "Coming", "Gone", "Done", "Then", "There", "Beside",
    "Which", "Whose", "Who", "What", "Way", "Means", "At", "Room", "Desk", "Bench", "Care", "Place",
    "Places", "Wanted", "Chosen", "Named", "Fresh", "Saved", "Door", "Letter", "Beat", "Walk", "Chore",
    "Whole",
];

/// Words that say no subject of a constant.
const VAGUE_CONSTANTS: [&str; 13] = [
    "MOST", "LONGEST", "LITTLE", "SOON", "AGAIN", "SOME", "MANY", "KEPT", "HELD", "AT_ONCE", "SHORTEST",
    "LEAST", "DEEPEST",
];

/// Doc comments that say nothing.
const STOCK_PHRASES: [&str; 5] = [
    "/// See the file's head.",
    "/// See the module.",
    "/// Of this text.",
    "/// Those of a request.",
    "/// The database.",
];

/// A test is found by its name, and read in a list of many.
const MAX_TEST_NAME_CHARS: usize = 60;

/// Returns the types whose name is one of the vague words.
pub fn vague_types(of: &Crate) -> Vec<String> {
    let vague = |name: &&String| VAGUE_TYPES.contains(&name.as_str());
    of.modules
        .values()
        .flat_map(|module| module.types.iter().filter(vague).map(|name| format!("{}: {name}", module.file)))
        .collect()
}

/// Returns the constants that do not say what they are of.
pub fn vague_constants(of: &Crate) -> Vec<String> {
    let is_vague = |name: &str| {
        VAGUE_CONSTANTS
            .iter()
            .any(|word| name.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')))
    };
    of.modules
        .values()
        .flat_map(|module| {
            let vague = module.constants.iter().filter(|name| is_vague(name));
            vague.map(|name| format!("{}: {name}", module.file))
        })
        .collect()
}

/// Returns the types that a crate declares more than once, with the files that do. `local` are names that modules of one shape share.
pub fn repeated_types(of: &Crate, local: &[&str]) -> Vec<String> {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for module in of.modules.values() {
        for name in module.types.iter().filter(|name| !local.contains(&name.as_str())) {
            files.entry(name).or_default().push(&module.file);
        }
    }
    let repeated = files.into_iter().filter(|(_, files)| files.len() > 1);
    repeated.map(|(name, files)| format!("{name}: {}", files.join(", "))).collect()
}

/// Returns the lines with a doc comment that says nothing.
pub fn stock_phrases(file: &File) -> Vec<String> {
    let lines = file.content.lines().enumerate();
    lines
        .filter(|(_, line)| STOCK_PHRASES.contains(&line.trim()))
        .map(|(number, line)| format!("{}:{}: {}", file.name, number + 1, line.trim()))
        .collect()
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
