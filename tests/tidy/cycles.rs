//! No cycle between modules: at every level of a crate, the modules side by side depend on each other in one direction.
//!
//! A reference counts where it ends: a name that a parent re-exports counts for the module that declares it. What a module takes from
//! its own parent does not count, nor does code that only tests compile.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{Crate, ModulePath};

/// References between the modules below one parent: from which to which, with an example.
type Edges = BTreeMap<(String, String), String>;

/// Returns a line for each cycle of a crate that says where it is and by which references it closes.
pub fn cycles(of: &Crate) -> Vec<String> {
    edges(of).into_iter().flat_map(|(parent, edges)| describe(of, &parent, &edges)).collect()
}

fn edges(of: &Crate) -> BTreeMap<ModulePath, Edges> {
    let mut all: BTreeMap<ModulePath, Edges> = BTreeMap::new();
    for (path, module) in &of.modules {
        for reference in &module.references {
            let target = resolve(of, reference, 0);
            let shared = path.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (path.get(shared), target.get(shared)) {
                let edges = all.entry(path[..shared].to_vec()).or_default();
                let example = || format!("{} uses {}", module.file, reference.join("::"));
                edges.entry((from.clone(), to.clone())).or_insert_with(example);
            }
        }
    }
    all
}

/// Returns the module that declares what a path names.
fn resolve(of: &Crate, path: &[String], depth: usize) -> ModulePath {
    let mut at = ModulePath::new();
    for (number, part) in path.iter().enumerate() {
        let child: ModulePath = at.iter().cloned().chain([part.clone()]).collect();
        if of.modules.contains_key(&child) {
            at = child;
            continue;
        }
        let reexport = of.modules.get(&at).and_then(|module| module.reexports.get(part));
        return match reexport {
            // A re-export of a re-export; the bound ends one that leads to itself.
            Some(to) if depth < 8 => {
                let rest: ModulePath = to.iter().chain(&path[number + 1..]).cloned().collect();
                resolve(of, &rest, depth + 1)
            }
            Some(_) | None => at,
        };
    }
    at
}

fn describe(of: &Crate, parent: &ModulePath, edges: &Edges) -> Vec<String> {
    let modules: BTreeSet<&String> = edges.keys().flat_map(|(from, to)| [from, to]).collect();
    let reachable: BTreeMap<&String, BTreeSet<&String>> =
        modules.iter().map(|module| (*module, reach(module, edges))).collect();
    let is_in_cycle = |from: &String, to: &String| reachable[to].contains(from);
    let closing: Vec<&str> = edges
        .iter()
        .filter(|((from, to), _)| is_in_cycle(from, to))
        .map(|(_, example)| example.as_str())
        .collect();
    if closing.is_empty() {
        return Vec::new();
    }
    let place =
        if parent.is_empty() { of.folder.clone() } else { format!("{} {}", of.folder, parent.join("::")) };
    vec![format!("{place}:\n    {}", closing.join("\n    "))]
}

/// Returns the modules that can be reached from one.
fn reach<'a>(from: &String, edges: &'a Edges) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(at) = next.pop() {
        for ((_, to), _) in edges.iter().filter(|((from, _), _)| from == at) {
            if found.insert(to) {
                next.push(to);
            }
        }
    }
    found
}
