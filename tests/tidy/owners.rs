//! The rule about owners: rows of tables that belong to users are found and changed only by functions of the entity, which begin with
//! the owner or say in their names why not.

use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature};

use super::sources::{File, rust_files};

/// The field of a row that names its owner. The tables whose entities have it belong to users.
const OWNER_FIELD: &str = "pub user_id:";

/// Functions of `sea_orm` that find the rows of a table, whatever their owner.
const ENTITY_FINDERS: [&str; 2] = ["find", "find_by_id"];

/// Functions of `sea_orm` that change the rows of a table by a condition or by their primary key, whatever their owner.
const ENTITY_CHANGES: [&str; 5] = ["update_many", "delete_many", "update", "delete", "delete_by_id"];

/// Methods of `sea_orm` that change the row of a model by its primary key, whatever its owner.
const MODEL_CHANGES: [&str; 4] = [".update(", ".delete(", ".save(", ".update_without_returning("];

/// How the argument of such a method ends: with a transaction or a connection.
const CONNECTIONS: [&str; 3] = ["txn", "db", "write("];

/// Functions that change rows of owned tables without their owner: file, name and reason.
const CHANGES_WITHOUT_OWNER: [(&str, &str, &str); 30] = [
    ("actors/crates/jobs/src/claim.rs", "end_leases", "a process that crashed ran jobs of many users"),
    ("actors/crates/jobs/src/complete.rs", "done_jobs", "the clean-up deletes ended jobs of all users"),
    ("actors/crates/jobs/src/complete.rs", "end_wait", "jobs of many users wait for the same resource"),
    (
        "actors/crates/jobs/src/complete.rs",
        "replace_given_up",
        "a job for all followers of a feed may have been given up with the id of another follower",
    ),
    ("actors/crates/jobs/src/complete.rs", "requeue_all", "a process that stops ran jobs of many users"),
    ("actors/crates/jobs/src/complete.rs", "sweep", "the clean-up deletes ended jobs of all users"),
    ("actors/crates/library/src/exports/mod.rs", "sweep", "the clean-up deletes old exports of all users"),
    ("actors/crates/library/src/feeds/source.rs", "move_to", "the followers of a source are of many users"),
    ("actors/crates/library/src/feeds/source.rs", "record_failure", "the row of a source belongs to no user"),
    ("actors/crates/library/src/feeds/source.rs", "record_feed", "the row of a source belongs to no user"),
    ("actors/crates/library/src/feeds/source.rs", "record_no_room", "the row of a source belongs to no user"),
    (
        "actors/crates/library/src/feeds/source.rs",
        "record_unchanged",
        "the row of a source belongs to no user",
    ),
    (
        "actors/crates/library/src/imports/retention.rs",
        "release_files",
        "the clean-up releases files of the imports of all users",
    ),
    ("actors/crates/library/src/stored_files.rs", "assign", "it gives a file its owner"),
    ("actors/crates/library/src/stored_files.rs", "delete", "it deletes files that have no owner"),
    ("actors/src/activity/actor.rs", "sweep", "the clean-up deletes old lines of all users"),
    ("actors/src/auth/accounts.rs", "remove", "the row of an account has no other owner"),
    ("actors/src/auth/accounts.rs", "set_disabled", "the row of an account has no other owner"),
    ("actors/src/auth/accounts.rs", "set_email", "the row of an account has no other owner"),
    ("actors/src/auth/accounts.rs", "set_name", "the row of an account has no other owner"),
    ("actors/src/auth/accounts.rs", "set_operator", "the row of an account has no other owner"),
    ("actors/src/auth/accounts.rs", "replace_password", "the row of an account has no other owner"),
    ("actors/src/auth/accounts.rs", "set_plan", "the row of an account has no other owner"),
    ("actors/src/auth/grants/sweep.rs", "end_expired", "the clean-up ends expired grants of all users"),
    ("actors/src/auth/grants/sweep.rs", "run", "the clean-up deletes expired rows of all users"),
    ("actors/src/auth/limits/mod.rs", "sweep", "the clean-up deletes the counts of past days of all users"),
    ("actors/src/auth/password_resets.rs", "sweep", "the clean-up deletes expired requests of all users"),
    ("actors/src/auth/sessions.rs", "open_session", "a session is found by the hash of its secret"),
    ("actors/src/auth/sessions.rs", "sweep", "the clean-up deletes expired sessions of all users"),
    (
        "actors/src/ingest/media/recording_file.rs",
        "sweep",
        "the clean-up releases unused recordings of the documents of all users",
    ),
];

/// A place in the code that finds or changes rows whatever their owner.
#[derive(Debug, PartialEq, Eq)]
struct UnownedAccess {
    file: String,
    /// The function that contains it; empty outside of functions.
    function: String,
    line: usize,
}

impl UnownedAccess {
    /// Returns the exception that allows it, if there is one.
    fn exception(&self) -> Option<&'static (&'static str, &'static str, &'static str)> {
        CHANGES_WITHOUT_OWNER
            .iter()
            .find(|(file, function, _)| *file == self.file && *function == self.function)
    }
}

/// Returns the names of the tables whose rows belong to users.
fn owned_tables(files: &[File]) -> Vec<String> {
    let owned = |file: &File| {
        let table = file.name.strip_prefix("entity/src/")?.strip_suffix(".rs")?;
        file.content.contains(OWNER_FIELD).then(|| table.to_owned())
    };
    files.iter().filter_map(owned).collect()
}

fn is_part_of_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the positions of a path in a source that end it there and do not follow a character of `not_after`.
fn path_positions(source: &str, path: &str, not_after: impl Fn(char) -> bool) -> Vec<usize> {
    let is_whole = |at: usize| {
        let is_continued = source[at + path.len()..].starts_with(is_part_of_name);
        !is_continued && !source[..at].ends_with(&not_after)
    };
    source.match_indices(path).map(|(at, _)| at).filter(|at| is_whole(*at)).collect()
}

/// Returns whether a source imports the entity of a table by its own name.
fn imports_entity(source: &str, table: &str) -> bool {
    let import = format!("use entity::{table}::");
    source.match_indices(&import).any(|(at, _)| {
        let names = source[at + import.len()..].split(';').next().unwrap_or_default();
        names.split(|character: char| !is_part_of_name(character)).any(|name| name == "Entity")
    })
}

/// Returns where a source names one of these functions of the entity of an owned table.
fn entity_accesses(source: &str, owned: &[String], functions: &[&str]) -> Vec<usize> {
    let mut found = Vec::new();
    for table in owned {
        let is_imported = imports_entity(source, table);
        for function in functions {
            let qualified = format!("{table}::Entity::{function}");
            found.extend(path_positions(source, &qualified, is_part_of_name));
            if is_imported {
                // Behind a colon it is the entity of another table.
                let is_other = |character: char| is_part_of_name(character) || character == ':';
                found.extend(path_positions(source, &format!("Entity::{function}"), is_other));
            }
        }
    }
    found
}

/// Returns where a source changes a row through its model, as `row.update(&txn)` does.
fn model_changes(source: &str) -> Vec<usize> {
    let found = MODEL_CHANGES.iter().flat_map(|method| source.match_indices(method));
    let is_change = |at: usize, method: &str| {
        let rest = &source[at + method.len()..];
        let Some(end) = rest.find([',', ')']) else { return false };
        let last = rest[..end].rsplit(['.', '&']).next().unwrap_or_default();
        rest[end..].starts_with(')') && CONNECTIONS.contains(&last)
    };
    found.filter(|(at, method)| is_change(*at, method)).map(|(at, _)| at).collect()
}

/// The functions of a source, each with its first and its last line.
#[derive(Default)]
struct Functions(Vec<(usize, usize, String)>);

impl Functions {
    fn read(file: &File) -> Self {
        let parsed = syn::parse_file(&file.content).unwrap_or_else(|error| panic!("{}: {error}", file.name));
        let mut functions = Self::default();
        functions.visit_file(&parsed);
        functions
    }

    fn add(&mut self, signature: &Signature, body: &Block) {
        let first = signature.ident.span().start().line;
        let last = body.brace_token.span.close().end().line;
        self.0.push((first, last, signature.ident.to_string()));
    }

    /// Returns the name of the innermost function at a line, or an empty one.
    fn at(&self, line: usize) -> String {
        let around = self.0.iter().filter(|(first, last, _)| (*first..=*last).contains(&line));
        around.max_by_key(|(first, ..)| *first).map(|(.., name)| name.clone()).unwrap_or_default()
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }
}

/// Names the functions that contain these positions of a file.
fn locate(file: &File, positions: Vec<usize>) -> Vec<UnownedAccess> {
    if positions.is_empty() {
        return Vec::new();
    }
    let functions = Functions::read(file);
    let locate = |at: usize| {
        let line = file.content[..at].matches('\n').count() + 1;
        UnownedAccess { file: file.name.clone(), function: functions.at(line), line }
    };
    positions.into_iter().map(locate).collect()
}

/// Returns the places in `actors` that find rows of owned tables without a function of the entity that names the owner.
fn finds_without_owner(files: &[File]) -> Vec<UnownedAccess> {
    let owned = owned_tables(files);
    let actors = files.iter().filter(|file| file.name.starts_with("actors/"));
    actors.flat_map(|file| locate(file, entity_accesses(&file.content, &owned, &ENTITY_FINDERS))).collect()
}

/// Returns the places in `actors` that change rows without a function of the entity that names the owner.
fn changes_without_owner(files: &[File]) -> Vec<UnownedAccess> {
    let owned = owned_tables(files);
    let actors = files.iter().filter(|file| file.name.starts_with("actors/"));
    let changes = |file: &File| {
        let mut found = entity_accesses(&file.content, &owned, &ENTITY_CHANGES);
        found.extend(model_changes(&file.content));
        locate(file, found)
    };
    actors.flat_map(changes).collect()
}

/// Returns the imports of a source that name an entity, or the module of an owned table, in another way: the rules about its functions
/// would not find them.
fn renamed_entities(source: &str, owned: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for import in source.match_indices("use entity::").map(|(at, _)| &source[at..]) {
        let import = import.split(';').next().unwrap_or_default();
        let words: Vec<&str> = import.split(|character: char| !is_part_of_name(character)).collect();
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let is_renamed = |words: &[&str]| match words {
            [name, "as", _] => matches!(*name, "Entity" | "self") || owned.iter().any(|table| table == name),
            _ => false,
        };
        if words.windows(3).any(is_renamed) {
            found.push(import.to_owned());
        }
    }
    found
}

#[test]
fn entities_are_imported_by_their_own_names() {
    let files = rust_files();
    let owned = owned_tables(&files);
    let actors = files.iter().filter(|file| file.name.starts_with("actors/"));
    let wrong: Vec<_> = actors
        .map(|file| (&file.name, renamed_entities(&file.content, &owned)))
        .filter(|(_, imports)| !imports.is_empty())
        .collect();
    assert!(wrong.is_empty(), "import the entity or its module without `as`: {wrong:#?}");
}

#[test]
fn renamed_entity_is_found_in_every_spelling() {
    let owned = ["note".to_owned()];
    for import in [
        "use entity::note::Entity as Notes;",
        "use entity::note::{Column, Entity as Notes};",
        "use entity::note as notes;",
        "use entity::note::{self as notes, Column};",
        "use entity::{\n    feed_source,\n    note as notes,\n};",
    ] {
        assert_eq!(renamed_entities(import, &owned).len(), 1, "{import}");
    }
    for import in
        ["use entity::note::{Column, Entity};", "use entity::note::Column as C;", "use web::Entity as E;"]
    {
        assert!(renamed_entities(import, &owned).is_empty(), "{import}");
    }
}

#[test]
fn owned_rows_are_found_by_finders_of_the_entity() {
    let wrong = finds_without_owner(&rust_files());
    assert!(wrong.is_empty(), "use `owned_by`, `one_of`, or a finder whose name says why not: {wrong:#?}");
}

#[test]
fn owned_rows_are_changed_by_their_owner() {
    let mut wrong = changes_without_owner(&rust_files());
    wrong.retain(|access| access.exception().is_none());
    assert!(wrong.is_empty(), "use `update_owned_row`, `delete_owned_row` or `update_owned`: {wrong:#?}");
}

#[test]
fn exceptions_for_changes_without_owner_are_needed() {
    let changes = changes_without_owner(&rust_files());
    let needed: Vec<_> = changes.iter().filter_map(UnownedAccess::exception).collect();
    let unneeded: Vec<_> =
        CHANGES_WITHOUT_OWNER.iter().filter(|exception| !needed.contains(exception)).collect();
    assert!(unneeded.is_empty(), "{unneeded:#?}");
}

#[test]
fn table_is_owned_if_its_rows_name_a_user() {
    let file = |name: &str, content: &str| File { name: name.to_owned(), content: content.to_owned() };
    let files = [
        file("entity/src/note.rs", "pub struct Model {\n    pub user_id: UserId,\n}"),
        file("entity/src/stored_file.rs", "pub struct Model {\n    pub user_id: Option<UserId>,\n}"),
        file("entity/src/feed_source.rs", "pub struct Model {\n    pub id: FeedSourceId,\n}"),
        file("actors/src/caller.rs", "pub struct Caller {\n    pub user_id: UserId,\n}"),
    ];

    assert_eq!(owned_tables(&files), ["note", "stored_file"]);
    assert!(owned_tables(&rust_files()).len() > 30);
}

#[test]
fn access_without_owner_is_found_with_its_function() {
    let content = "use entity::note::Entity;\n\nimpl Notes {\n    fn all(&self) {\n        list(Entity::find)\n    }\n}\n\n\
                   fn remove() {\n    fn inner() {}\n    Entity::delete_by_id(id)\n}\n";
    let entity = File { name: "entity/src/note.rs".to_owned(), content: OWNER_FIELD.to_owned() };
    let files = [File { name: "actors/src/a.rs".to_owned(), content: content.to_owned() }, entity];
    let access = |function: &str, line| UnownedAccess {
        file: "actors/src/a.rs".to_owned(),
        function: function.to_owned(),
        line,
    };

    assert_eq!(finds_without_owner(&files), [access("all", 5)]);
    assert_eq!(changes_without_owner(&files), [access("remove", 11)]);
}

#[test]
fn change_without_owner_is_found_in_every_spelling() {
    let owned = ["note".to_owned()];
    let calls = |source: &str| !entity_accesses(source, &owned, &ENTITY_CHANGES).is_empty();
    for function in ENTITY_CHANGES {
        assert!(calls(&format!("    note::Entity::{function}(id)")), "{function}");
        assert!(calls(&format!("(entity::note::Entity::{function})")), "{function}");
        assert!(calls(&format!("use entity::note::{{Column, Entity}};\n    Entity::{function}(id)")));
        assert!(!calls(&format!("    feed_note::Entity::{function}(id)")));
        assert!(!calls(&format!("use entity::note::{{Column, Entity}};\n    user::Entity::{function}(id)")));
        assert!(!calls(&format!("use entity::note::Column;\n    Entity::{function}(id)")));
    }
    for change in ["row.update(&txn)", "row.delete(txn)", "row.save(db)", "row.update(core.db.write())"] {
        assert!(!model_changes(change).is_empty(), "{change}");
    }
    for other in ["note::Entity::update_owned(user)", "hash.update(bytes)", "note.delete(&txn, now)"] {
        assert!(!calls(other) && model_changes(other).is_empty(), "{other}");
    }
}

/// Returns the files of `entity` that declare a finder of this name.
fn finders_named(name: &str) -> Vec<String> {
    let declaration = format!("fn {name}(");
    let declares = |file: &File| file.name.starts_with("entity/") && file.content.contains(&declaration);
    let mut files: Vec<String> = rust_files().into_iter().filter(declares).map(|file| file.name).collect();
    files.sort();
    files
}

#[test]
fn finder_of_one_name_selects_the_same_rows() {
    let advice = "a finder that leaves rows out is `visible_to` or `one_visible_to`";
    // One row belongs to each user, and its id is that of the user.
    assert_eq!(finders_named("owned_by"), ["entity/src/library_usage.rs", "entity/src/owned.rs"], "{advice}");
    // The id of its rows is a key with the hash of a header.
    assert_eq!(finders_named("one_of"), ["entity/src/idempotency.rs", "entity/src/owned.rs"], "{advice}");
}

#[test]
fn table_with_hidden_rows_has_no_finder_owned_by() {
    let declares =
        |file: &File, finder: &str| file.name.starts_with("entity/") && file.content.contains(finder);
    let wrong: Vec<_> = rust_files()
        .into_iter()
        .filter(|file| declares(file, "fn visible_to(") && declares(file, "owned_table!("))
        .map(|file| file.name)
        .collect();
    assert!(wrong.is_empty(), "name the finder of all rows after the others, as `with_deleted`: {wrong:#?}");
}
