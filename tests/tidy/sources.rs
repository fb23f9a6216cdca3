//! What the rules look at: the files of the tree, and the items of the Rust sources as `syn` reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ImplItemFn, Item, ItemUse, UseTree, Visibility};

/// Folders that hold Rust sources.
const SOURCES: [&str; 5] = ["src", "entity", "migration", "actors", "tests"];

/// A file of the tree.
pub struct File {
    /// From the root of the tree, with slashes.
    pub name: String,
    pub content: String,
}

impl File {
    /// Returns the lines for which `is_wrong` holds, each with the file and its number.
    pub fn lines_where(&self, is_wrong: impl Fn(&str) -> bool) -> Vec<String> {
        let lines = self.content.lines().enumerate().filter(|(_, line)| is_wrong(line));
        lines.map(|(number, line)| format!("{}:{}: {}", self.name, number + 1, line.trim())).collect()
    }
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files_under(folder: &Path, found: &mut Vec<File>) {
    let entries = fs::read_dir(folder).unwrap();
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        if path.is_symlink() || [".git", "target", "data"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            files_under(&path, found);
        } else if let Ok(content) = fs::read_to_string(&path) {
            found.push(File { name, content });
        }
    }
}

/// Returns every text file of the tree.
pub fn all_files() -> Vec<File> {
    let mut found = Vec::new();
    files_under(&root(), &mut found);
    found
}

/// Returns every Rust source of the tree.
pub fn rust_files() -> Vec<File> {
    let ours = |file: &File| SOURCES.iter().any(|folder| file.name.starts_with(&format!("{folder}/")));
    all_files().into_iter().filter(|file| file.name.ends_with(".rs") && ours(file)).collect()
}

/// The path of a module or an item from the root of its crate.
pub type ModulePath = Vec<String>;

/// An item that a module declares.
pub struct Declaration {
    pub name: String,
    /// The line in its file, from 1.
    pub line: usize,
}

impl Declaration {
    fn new(ident: &Ident) -> Self {
        Self { name: ident.to_string(), line: ident.span().start().line }
    }
}

/// A module as its file declares it. Code that only tests compile is left out.
#[derive(Default)]
pub struct Module {
    /// The file, from the root of the tree.
    pub file: String,
    /// Paths that the module names, from the root of the crate, but for those that it re-exports from below itself. Names that the
    /// module imports are replaced by what they stand for; re-exports of other modules are not resolved yet.
    pub references: BTreeSet<ModulePath>,
    /// Names that the module re-exports, with what they stand for.
    pub reexports: BTreeMap<String, ModulePath>,
    /// Types that the module declares.
    pub types: Vec<Declaration>,
    /// Constants and statics that the module declares.
    pub constants: Vec<Declaration>,
}

impl Module {
    fn of(file: &File) -> Self {
        Self { file: file.name.clone(), ..Self::default() }
    }

    /// Records the declaration of a type or a constant.
    fn declare(&mut self, item: &Item) {
        match item {
            Item::Struct(item) => self.types.push(Declaration::new(&item.ident)),
            Item::Enum(item) => self.types.push(Declaration::new(&item.ident)),
            Item::Trait(item) => self.types.push(Declaration::new(&item.ident)),
            Item::Type(item) => self.types.push(Declaration::new(&item.ident)),
            Item::Const(item) => self.constants.push(Declaration::new(&item.ident)),
            Item::Static(item) => self.constants.push(Declaration::new(&item.ident)),
            _ => {}
        }
    }
}

/// The modules of one crate.
pub struct Crate {
    /// Its folder of sources, from the root of the tree.
    pub folder: String,
    pub modules: BTreeMap<ModulePath, Module>,
    /// Code that only tests compile, by the module that contains it. In a module that other code shares, its declarations alone.
    test_modules: BTreeMap<ModulePath, Module>,
}

impl Crate {
    /// Returns the code that only tests compile, as a separate crate.
    pub fn into_tests(self) -> Self {
        Self { modules: self.test_modules, test_modules: BTreeMap::new(), ..self }
    }
}

/// Returns the path of the module that a file holds, from its name below the sources of its crate.
fn module_path(name: &str) -> ModulePath {
    let mut path: ModulePath = name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    // The root is the library. A program beside it is a crate of its own, which names the library by its package.
    if matches!(path.last().map(String::as_str), Some("mod" | "lib")) {
        path.pop();
    }
    path
}

/// Reads the modules of a crate. `files` are all sources of the tree.
pub fn read_crate(folder: &str, files: &[File]) -> Crate {
    let prefix = format!("{folder}/");
    let own = |file: &&File| file.name.starts_with(&prefix);
    let mut modules = BTreeMap::new();
    let mut tests = BTreeMap::new();
    let mut test_modules = BTreeSet::new();
    let known: BTreeSet<ModulePath> =
        files.iter().filter(own).map(|file| module_path(&file.name[prefix.len()..])).collect();
    for file in files.iter().filter(own) {
        let path = module_path(&file.name[prefix.len()..]);
        let parsed = syn::parse_file(&file.content).unwrap_or_else(|error| panic!("{}: {error}", file.name));
        let mut reader = Reader {
            path: path.clone(),
            known: &known,
            module: Module::of(file),
            tests: Module::of(file),
            test_modules: &mut test_modules,
            imports: BTreeMap::new(),
            named: Vec::new(),
        };
        reader.visit_file(&parsed);
        let (module, tests_within) = reader.finish();
        modules.insert(path.clone(), module);
        tests.insert(path, tests_within);
    }
    let is_test = |path: &ModulePath| test_modules.iter().any(|test| path.starts_with(test));
    let (whole_tests, modules): (BTreeMap<_, _>, BTreeMap<_, _>) =
        modules.into_iter().partition(|(path, _)| is_test(path));
    tests.extend(whole_tests);
    Crate { folder: folder.to_owned(), modules, test_modules: tests }
}

/// Reads the items of one file.
struct Reader<'a> {
    /// The module that is read at present: that of the file, or one that is declared within it.
    path: ModulePath,
    /// The modules that are files.
    known: &'a BTreeSet<ModulePath>,
    module: Module,
    /// The declarations within the file that only tests compile.
    tests: Module,
    test_modules: &'a mut BTreeSet<ModulePath>,
    /// Names that the file imports from its crate, with what they stand for.
    imports: BTreeMap<String, ModulePath>,
    /// Paths outside of imports, each with the module in which it stands.
    named: Vec<(ModulePath, Vec<String>)>,
}

fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Lists the paths of a use tree, each with the name that it is imported by.
fn flatten(tree: &UseTree, prefix: &[String], found: &mut Vec<(ModulePath, String)>) {
    let with = |name: String| prefix.iter().cloned().chain([name]).collect::<Vec<_>>();
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &with(path.ident.to_string()), found),
        UseTree::Name(name) if name.ident == "self" => {
            found.push((prefix.to_vec(), prefix.last().cloned().unwrap_or_default()));
        }
        UseTree::Name(name) => found.push((with(name.ident.to_string()), name.ident.to_string())),
        UseTree::Rename(name) => found.push((with(name.ident.to_string()), name.rename.to_string())),
        UseTree::Glob(_) => found.push((with("*".to_owned()), String::new())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, found)),
    }
}

/// Lists the paths in the tokens of a macro call.
fn token_paths(tokens: TokenStream, found: &mut Vec<Vec<String>>) {
    let mut path = Vec::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    found.push(mem::take(&mut path));
                }
                path.push(ident.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Group(group) => {
                found.push(mem::take(&mut path));
                colons = 0;
                token_paths(group.stream(), found);
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {
                found.push(mem::take(&mut path));
                colons = 0;
            }
        }
    }
    found.push(path);
}

impl Reader<'_> {
    /// Returns a path that stands in module `from`, from the root of the crate; `None` for one that leads into another crate or is
    /// local.
    fn absolute(&self, from: &[String], path: &[String]) -> Option<ModulePath> {
        let mut base = from.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => return Some(path[1..].to_vec()),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            name => {
                let child: ModulePath = from.iter().cloned().chain([name.to_owned()]).collect();
                if !self.known.contains(&child) {
                    return None;
                }
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// Returns a path of the code from the root of the crate. Its first name may be imported.
    fn expand(&self, from: &[String], path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        match self.imports.get(first) {
            Some(import) => Some(import.iter().chain(rest).cloned().collect()),
            // A local name, or one of the prelude.
            None if rest.is_empty() => None,
            None => self.absolute(from, path),
        }
    }

    /// Returns the module with the references of its code, once all of its imports are read, and its tests.
    fn finish(mut self) -> (Module, Module) {
        let references: Vec<ModulePath> =
            self.named.iter().filter_map(|(from, path)| self.expand(from, path)).collect();
        self.module.references.extend(references);
        (self.module, self.tests)
    }
}

/// Reads the types and constants of code that only tests compile.
struct TestReader<'a>(&'a mut Module);

impl<'ast> Visit<'ast> for TestReader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        self.0.declare(item);
        visit::visit_item(self, item);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test_only(attributes(item)) {
            if let Item::Mod(module) = item {
                let path = self.path.iter().cloned().chain([module.ident.to_string()]).collect();
                if module.content.is_none() {
                    self.test_modules.insert(path);
                }
            }
            TestReader(&mut self.tests).visit_item(item);
            return;
        }
        if let Item::Mod(module) = item
            && module.content.is_some()
        {
            self.path.push(module.ident.to_string());
            visit::visit_item(self, item);
            self.path.pop();
            return;
        }
        self.module.declare(item);
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut found = Vec::new();
        flatten(&item.tree, &[], &mut found);
        let is_reexport = !matches!(item.vis, Visibility::Inherited);
        for (path, name) in found {
            let Some(path) = self.absolute(&self.path, &path) else { continue };
            // The module offers an item from below itself. Where its code names the item too, that counts.
            if !(is_reexport && path.starts_with(&self.path)) {
                self.module.references.insert(path.clone());
            }
            // What a module within the file re-exports is not at the path of the file.
            if is_reexport && self.known.contains(&self.path) {
                self.module.reexports.insert(name.clone(), path.clone());
            }
            self.imports.insert(name, path);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_test_only(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.named.push((self.path.clone(), parts));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let mut found = Vec::new();
        token_paths(call.tokens.clone(), &mut found);
        self.named.extend(found.into_iter().map(|parts| (self.path.clone(), parts)));
        visit::visit_macro(self, call);
    }
}
