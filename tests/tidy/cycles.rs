//! No cycle between modules: at every level of a crate, the modules side by side and the items of their parent depend on each other in
//! one direction.
//!
//! A reference counts where it ends: a name that a parent re-exports counts for the module that declares it, and offering it is no
//! reference of the parent. A file that declares modules uses its children or is used by them, not both; what both need is in a module
//! of its own. Code that only tests compile does not count.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{Crate, ModulePath};

/// A module below one parent with all that is below it; `None` is the file of the parent itself.
type Node = Option<String>;

/// References between the nodes below one parent: from which to which, with an example.
type Edges = BTreeMap<(Node, Node), String>;

/// The module or item that a path leads to.
struct Target {
    module: ModulePath,
    /// Whether the path names an item of the module, and not the module alone.
    is_item: bool,
}

/// Returns a line for each cycle of a crate that says where it is and by which references it closes.
pub fn cycles(of: &Crate) -> Vec<String> {
    edges(of).into_iter().flat_map(|(parent, edges)| describe(of, &parent, &edges)).collect()
}

fn edges(of: &Crate) -> BTreeMap<ModulePath, Edges> {
    let mut all: BTreeMap<ModulePath, Edges> = BTreeMap::new();
    for (path, module) in &of.modules {
        for reference in &module.references {
            let target = resolve(of, reference, 0);
            // Of an ancestor that is imported by name, the paths that begin with this name count.
            let is_own_name = !target.is_item && path.starts_with(&target.module);
            if is_own_name || target.module == *path {
                continue;
            }
            let shared = path.iter().zip(&target.module).take_while(|(a, b)| a == b).count();
            let nodes = (path.get(shared).cloned(), target.module.get(shared).cloned());
            let example = || format!("{} uses {}", module.file, reference.join("::"));
            all.entry(path[..shared].to_vec()).or_default().entry(nodes).or_insert_with(example);
        }
    }
    all
}

/// Returns the module that declares what a path names.
fn resolve(of: &Crate, path: &[String], depth: usize) -> Target {
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
            Some(_) | None => Target { module: at, is_item: true },
        };
    }
    Target { module: at, is_item: false }
}

fn describe(of: &Crate, parent: &ModulePath, edges: &Edges) -> Vec<String> {
    let nodes: BTreeSet<&Node> = edges.keys().flat_map(|(from, to)| [from, to]).collect();
    let reachable: BTreeMap<&Node, BTreeSet<&Node>> =
        nodes.iter().map(|node| (*node, reach(node, edges))).collect();
    let is_in_cycle = |from: &Node, to: &Node| reachable[to].contains(from);
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

/// Returns the nodes that can be reached from one.
fn reach<'a>(from: &Node, edges: &'a Edges) -> BTreeSet<&'a Node> {
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

#[cfg(test)]
mod tests {
    use super::super::sources::{File, read_crate};
    use super::*;

    /// Returns the cycles of a crate with module `a`, which declares these modules and has this code.
    fn cycles_of(parent: &str, children: &[(&str, &str)]) -> Vec<String> {
        let file = |name: &str, content: String| File { name: name.to_owned(), content };
        let declarations: String = children.iter().map(|(name, _)| format!("mod {name};\n")).collect();
        let mut files = vec![
            file("x/src/lib.rs", "mod a;".to_owned()),
            file("x/src/a/mod.rs", format!("{declarations}{parent}")),
        ];
        files.extend(
            children.iter().map(|(name, code)| file(&format!("x/src/a/{name}.rs"), (*code).to_owned())),
        );
        cycles(&read_crate("x/src", &files))
    }

    #[test]
    fn cycle_of_parent_and_child_names_both_references() {
        let parent = "pub struct Thing; fn run() { low::make(); }";

        let found = cycles_of(parent, &[("low", "use super::Thing; pub fn make() {}")]);

        assert_eq!(
            found,
            ["x/src a:\n    x/src/a/mod.rs uses a::low::make\n    x/src/a/low.rs uses a::Thing"]
        );
    }

    #[test]
    fn cycle_of_parent_and_two_children_is_found() {
        let children = [("high", "use super::low; pub fn go() {}"), ("low", "use super::Thing;")];

        let found = cycles_of("pub struct Thing; fn run() { high::go(); }", &children);

        let references = [
            "x/src a:",
            "x/src/a/mod.rs uses a::high::go",
            "x/src/a/high.rs uses a::low",
            "x/src/a/low.rs uses a::Thing",
        ];
        assert_eq!(found, [references.join("\n    ")]);
    }

    #[test]
    fn use_of_a_child_is_found_in_every_spelling() {
        let spellings = [
            "use low::make;",
            "use self::low;",
            "use crate::a::low::make as other;",
            "fn run() { crate::a::low::make(); }",
            "fn run() -> Vec<low::Made> { Vec::new() }",
            "fn run() { println!(\"{}\", Some(low::make())); }",
            "pub use low::make; fn run() { make(); }",
            "pub use low::Made; fn run() { assert!(matches!(1, Made { .. })); }",
        ];
        for spelling in spellings {
            let parent = format!("pub struct Thing;\n{spelling}");

            assert_eq!(cycles_of(&parent, &[("low", "use super::Thing;")]).len(), 1, "{spelling}");
        }
    }

    #[test]
    fn use_of_an_ancestor_is_found_in_every_spelling() {
        let spellings = [
            "use super::*;",
            "use crate::a::Thing;",
            "use crate::a; fn run(_: a::Thing) {}",
            "use crate::a as up; fn run(_: up::Thing) {}",
            "impl super::Thing {}",
            "fn run() { println!(\"{}\", Some(super::Thing)); }",
            "mod inner { use super::super::Thing; }",
        ];
        for spelling in spellings {
            let found = cycles_of("pub struct Thing; fn run() { low::make(); }", &[("low", spelling)]);

            assert_eq!(found.len(), 1, "{spelling}");
        }
    }

    #[test]
    fn reexport_and_test_code_close_no_cycle() {
        let uses_parent = [("low", "use super::Thing; pub struct Made;")];
        let of_tests = "impl Own { #[cfg(test)] fn new() -> super::Thing { todo!() } }\n\
                        #[cfg(test)] use super::Thing;\n#[cfg(test)] mod tests { use super::super::*; }";
        let of_itself = "struct Own; mod inner { use super::Own; }";
        let by_reexport = [("high", "use super::Made;"), ("low", "pub struct Made;")];

        assert_eq!(cycles_of("pub struct Thing; pub use low::Made;", &uses_parent), [""; 0]);
        assert_eq!(cycles_of("pub struct Thing; pub(crate) use self::low::Made;", &uses_parent), [""; 0]);
        assert_eq!(cycles_of("struct Thing; fn run() { low::make(); }", &[("low", of_tests)]), [""; 0]);
        assert_eq!(cycles_of("struct Own; fn run() { low::make(); }", &[("low", of_itself)]), [""; 0]);
        assert_eq!(cycles_of("pub use low::Made; fn run() { high::go(); }", &by_reexport), [""; 0]);
    }
}
