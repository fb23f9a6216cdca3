//! House rules that the compiler does not check, tested on the sources: dependencies between crates, module docs, names, and a single
//! source of clocks and ids.

#![expect(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic, and looks only at the items that it has rules for"
)]

use std::fs;

#[path = "tidy/cycles.rs"]
mod cycles;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/owners.rs"]
mod owners;
#[path = "tidy/requests.rs"]
mod requests;
#[path = "tidy/sources.rs"]
mod sources;

use sources::{Crate, File, all_files, read_crate, root, rust_files};

/// The folders of the workspace's crates, with the workspace crates that each may depend on.
const ARROWS: [(&str, &[&str]); 20] = [
    ("entity", &["values"]),
    ("migration", &[]),
    ("actors/crates/concurrency", &[]),
    ("actors/crates/database", &["concurrency", "disk", "migration", "values"]),
    ("actors/crates/disk", &[]),
    ("actors/crates/errors", &["concurrency", "database", "disk", "storage", "validation", "values", "web"]),
    ("actors/crates/inference", &["concurrency", "values", "web"]),
    ("actors/crates/jobs", &["database", "entity", "errors", "values"]),
    (
        "actors/crates/library",
        &[
            "concurrency",
            "database",
            "disk",
            "entity",
            "errors",
            "jobs",
            "parse",
            "sandbox",
            "storage",
            "text",
            "validation",
            "values",
            "web",
        ],
    ),
    ("actors/crates/parse", &["text", "values"]),
    ("actors/crates/runtime", &["concurrency"]),
    ("actors/crates/sandbox", &["concurrency", "parse"]),
    ("actors/crates/search", &["concurrency", "disk", "inference", "text", "values"]),
    ("actors/crates/storage", &["disk", "values", "web"]),
    ("actors/crates/text", &[]),
    ("actors/crates/validation", &["text", "values"]),
    ("actors/crates/values", &[]),
    ("actors/crates/web", &["disk", "text", "values"]),
    (
        "actors",
        &[
            "concurrency",
            "database",
            "disk",
            "entity",
            "errors",
            "inference",
            "jobs",
            "library",
            "parse",
            "runtime",
            "sandbox",
            "search",
            "storage",
            "text",
            "validation",
            "values",
            "web",
        ],
    ),
    (
        ".",
        &[
            "actors",
            "concurrency",
            "database",
            "disk",
            "entity",
            "errors",
            "inference",
            "jobs",
            "library",
            "parse",
            "sandbox",
            "search",
            "storage",
            "text",
            "validation",
            "values",
            "web",
        ],
    ),
];

/// Crates that use the database. The others are built without `sea-orm`, which crate `values` has behind a feature.
const DATABASE_CRATES: [&str; 8] = [
    "entity",
    "migration",
    "actors/crates/database",
    "actors/crates/errors",
    "actors/crates/jobs",
    "actors/crates/library",
    "actors",
    ".",
];

/// Crates that may depend on actix: what supervises actors, the actors, and the surfaces. All others run on tokio alone.
const ACTIX_CRATES: [&str; 3] = ["actors/crates/runtime", "actors", "."];

/// Folders whose sources may name it.
const ACTIX_SOURCES: [&str; 4] = ["actors/crates/runtime/", "actors/src/", "src/", "tests/"];

/// What a part of the tree does not speak of, and which files are excepted.
const ABSENT: [(&str, &str, &[&str]); 12] = [
    // Only direct reads use SQLite without its pools (crate `database`).
    (
        "actors",
        "rusqlite",
        &["actors/crates/database/src/direct/connection.rs", "actors/crates/database/src/direct/row.rs"],
    ),
    ("src", "rusqlite", &[]),
    // The rest of the program knows an index, and not where it is.
    (
        "actors",
        "qdrant_client",
        &[
            "actors/crates/search/src/index/server/call_error.rs",
            "actors/crates/search/src/index/server/collection.rs",
            "actors/crates/search/src/index/server/connection.rs",
            "actors/crates/search/src/index/server/filter.rs",
            "actors/crates/search/src/index/server/mod.rs",
            "actors/crates/search/src/index/server/point.rs",
            "actors/crates/search/src/index/server/query.rs",
            "actors/crates/search/src/index/server/tests.rs",
        ],
    ),
    ("src", "qdrant_client", &[]),
    ("actors", "actix_web", &[]),
    // The log silences a module of it by its name.
    ("src", "sea_orm", &["src/log.rs"]),
    // It reads the clock of the system.
    ("actors", "now_v7", &[]),
    ("src", "now_v7", &[]),
    // Ids of rows come from `values::id`. Excepted are that module, the name of a temporary file, the value of a check of the database,
    // the id of a data folder, the names of collections of tests, and the ids of requests in the log.
    (
        "actors",
        "Uuid::new_v4",
        &[
            "actors/crates/disk/src/scratch.rs",
            "actors/crates/search/src/index/server/tests.rs",
            "actors/crates/values/src/id.rs",
            "actors/src/service_state.rs",
        ],
    ),
    ("src", "Uuid::new_v4", &["src/data_dir.rs", "src/http/log.rs"]),
    // Routes outside the tables of operations declare which requests they serve on a full disk (`disk_floor::resource`). Excepted are
    // routes that write nothing, that check the disk later, or that require a credential first.
    (
        "src",
        "web::resource(",
        &[
            "src/app/documents.rs",
            "src/app/exports.rs",
            "src/app/imports.rs",
            "src/http/disk_floor.rs",
            "src/http/files.rs",
            "src/http/push.rs",
            "src/mcp/mod.rs",
            "src/oauth/metadata.rs",
        ],
    ),
    ("src", "config.route(", &["src/http/health.rs", "src/http/metrics.rs"]),
];

/// Calls that read the time of day. Only the clock may make them, so that tests can set the time. `Instant::now`, which measures
/// durations, is allowed.
const CLOCK_READS: [&str; 6] =
    ["SystemTime::now", "UNIX_EPOCH.elapsed", "DateTime::now", "now_utc(", "now_local(", "Utc::now"];

/// The file that may read the time of day.
const CLOCK_FILE: &str = "actors/crates/library/src/clock.rs";

/// Types of statics that change after the start of the process.
const CHANGING_TYPES: [&str; 5] = ["Atomic", "Mutex", "RwLock", "OnceLock", "Once::new"];

/// Files with a static that changes, and the reason: all else belongs to the contexts that the start of the server builds.
const CHANGING_STATICS: [(&str, &str); 6] = [
    ("actors/crates/inference/src/transcriber/whisper.rs", "the C library has one logging hook a process"),
    (
        "actors/crates/search/src/lexical/stop_words.rs",
        "the stop words of a language are read when it first occurs",
    ),
    ("actors/crates/values/src/id.rs", "ids of one millisecond keep the order of their creation"),
    ("actors/src/auth/password.rs", "spare memory for hashes, whose content does not matter"),
    ("src/log/output.rs", "the log belongs to the process"),
    ("src/server/listen.rs", "a process can install one recorder of metrics"),
];

/// Types that files of one shape declare each for itself: the rows of the tables, and the steps of migrations.
const LOCAL_TYPES: [&str; 7] =
    ["Model", "ActiveModel", "Column", "Entity", "Relation", "PrimaryKey", "Migration"];

/// A new reader reads README in one sitting.
const MAX_README_LINES: usize = 200;

/// Names that could hold anything and so mean nothing.
const EMPTY_NAMES: [&str; 10] =
    ["utils", "util", "common", "helpers", "helper", "manager", "managers", "types", "misc", "stuff"];

/// Returns the names of the packages that a manifest depends on, with those of its tests if `with_tests` is set.
fn dependencies(manifest: &str, with_tests: bool) -> Vec<&str> {
    let mut within = false;
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            let is_included = with_tests || !line.contains("dev-");
            within = line.ends_with("dependencies]") && is_included && !line.contains("workspace");
        } else if within {
            found.extend(line.split(['.', '=', ' ']).next().filter(|name| !name.is_empty() && *name != "#"));
        }
    }
    found
}

/// Which of our crates a manifest depends on; what only its tests use does not count.
fn uses(manifest: &str) -> Vec<String> {
    let is_ours = |name: &&str| ARROWS.iter().any(|(folder, _)| folder.rsplit('/').next() == Some(*name));
    dependencies(manifest, false)
        .into_iter()
        .map(|name| name.trim_start_matches("carrel-"))
        .filter(is_ours)
        .map(str::to_owned)
        .collect()
}

#[test]
fn crates_depend_only_on_lower_crates() {
    for (name, allowed) in ARROWS {
        let manifest = fs::read_to_string(root().join(name).join("Cargo.toml")).unwrap();
        let wrong: Vec<_> =
            uses(&manifest).into_iter().filter(|used| !allowed.contains(&used.as_str())).collect();
        assert!(wrong.is_empty(), "{name} must not use {wrong:?}");
    }
}

#[test]
fn dependency_is_found_in_every_spelling() {
    let manifest = "[dependencies]\nentity.workspace = true\nserde = \"1\"\ncarrel-actors = { path = \"x\" }\n\
                    text.workspace = true\n[dev-dependencies]\nmigration = { path = \"y\" }\n[build-dependencies]\nmigration = \"1\"\n";

    assert_eq!(uses(manifest), ["entity", "actors", "text", "migration"]);
}

#[test]
fn crates_below_the_actors_do_not_use_actix() {
    let mut wrong = Vec::new();
    for (folder, _) in ARROWS.iter().filter(|(folder, _)| !ACTIX_CRATES.contains(folder)) {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let actix = dependencies(&manifest, true).into_iter().filter(|name| name.starts_with("actix"));
        wrong.extend(actix.map(|name| format!("{folder}/Cargo.toml: {name}")));
    }
    let is_excepted = |name: &str| ACTIX_SOURCES.iter().any(|folder| name.starts_with(folder));
    let names_actix = |line: &str| ["actix::", "actix_"].iter().any(|path| line.contains(path));
    let sources = rust_files().into_iter().filter(|file| !is_excepted(&file.name));
    wrong.extend(sources.flat_map(|file| file.lines_where(names_actix)));
    assert!(wrong.is_empty(), "what is below the actors needs none of actix: {wrong:#?}");
}

/// Returns what makes a crate with this manifest build `sea-orm`: itself, its feature, or a crate that uses the database.
fn database_dependencies(manifest: &str) -> Vec<String> {
    let uses_database =
        |name: &String| DATABASE_CRATES.iter().any(|folder| folder.rsplit('/').next() == Some(name.as_str()));
    let mut found: Vec<String> = uses(manifest).into_iter().filter(uses_database).collect();
    let turns_on = |line: &&str| line.starts_with("sea-orm") || line.contains("features = [\"sea-orm\"]");
    // The feature of crate `values` and the dependency that it turns on.
    let is_optional = |line: &str| line.contains("\"dep:sea-orm\"") || line.contains("optional = true");
    found.extend(manifest.lines().filter(turns_on).filter(|line| !is_optional(line)).map(str::to_owned));
    found
}

#[test]
fn crates_without_tables_do_not_build_sea_orm() {
    for (folder, _) in ARROWS.iter().filter(|(folder, _)| !DATABASE_CRATES.contains(folder)) {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let wrong = database_dependencies(&manifest);
        assert!(wrong.is_empty(), "{folder} builds sea-orm because of {wrong:?}; use crate `values`");
    }
}

#[test]
fn dependency_on_the_database_is_found_in_every_spelling() {
    let manifest = "[features]\nsea-orm = [\"dep:sea-orm\"]\n[dependencies]\ndisk.workspace = true\nentity.workspace = true\n\
                    sea-orm = { workspace = true, optional = true }\n";
    let turned_on = ["sea-orm.workspace = true", "values = { workspace = true, features = [\"sea-orm\"] }"];

    assert_eq!(database_dependencies(manifest), ["entity"]);
    assert_eq!(database_dependencies(&turned_on.join("\n")), turned_on);
}

#[test]
fn dependencies_of_tests_are_told_from_the_others() {
    let manifest = "[dependencies]\n# Why.\ntokio.workspace = true\n\n[dev-dependencies]\nactix-rt = \"2\"\n";

    assert_eq!(dependencies(manifest, false), ["tokio"]);
    assert_eq!(dependencies(manifest, true), ["tokio", "actix-rt"]);
}

#[test]
fn every_source_opens_with_what_it_holds() {
    let wrong: Vec<_> = rust_files()
        .into_iter()
        .filter(|file| !file.content.starts_with("//! "))
        .map(|file| file.name)
        .collect();
    assert!(wrong.is_empty(), "without a `//! ` comment at the start: {wrong:#?}");
}

#[test]
fn files_and_folders_have_meaningful_names() {
    let empty = |name: &str| name.split(['/', '.']).any(|part| EMPTY_NAMES.contains(&part));
    let wrong: Vec<_> = rust_files().into_iter().map(|file| file.name).filter(|name| empty(name)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn forbidden_texts_are_absent() {
    let all = rust_files();
    let mut wrong = Vec::new();
    for (folder, word, excepted) in ABSENT {
        let within = format!("{folder}/");
        let is_bound =
            |file: &&File| file.name.starts_with(&within) && !excepted.contains(&file.name.as_str());
        for file in all.iter().filter(is_bound) {
            let lines = file.content.lines().enumerate().filter(|(_, line)| line.contains(word));
            wrong.extend(lines.map(|(number, _)| format!("{}:{}: {word}", file.name, number + 1)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Names of the sources, except those of tests, that read the time of day.
fn clock_readers(files: Vec<File>) -> Vec<String> {
    let reads = |file: &File| CLOCK_READS.iter().any(|read| file.content.contains(read));
    let found = files.into_iter().filter(|file| !file.name.starts_with("tests/") && reads(file));
    found.map(|file| file.name).collect()
}

#[test]
fn time_of_day_is_read_by_the_clock_alone() {
    assert_eq!(clock_readers(rust_files()), [CLOCK_FILE], "pass the time in from the caller's clock");
}

#[test]
fn reads_of_the_time_of_day_are_found_in_every_spelling() {
    let reads = [
        "time::OffsetDateTime::now_utc()",
        "UtcDateTime::now()",
        "std::time::SystemTime::now()",
        "Utc::now()",
    ];
    for read in reads {
        let file = |name: &str| File { name: name.to_owned(), content: format!("let now = {read};") };

        assert_eq!(clock_readers(vec![file("src/a.rs"), file("tests/a.rs")]), ["src/a.rs"], "{read}");
    }
    let duration = File { name: "src/a.rs".to_owned(), content: "Instant::now()".to_owned() };
    assert!(clock_readers(vec![duration]).is_empty());
}

/// Returns whether a line declares a static that changes, or begins a block of statics of each thread.
fn declares_changing_static(line: &str) -> bool {
    let line = line.trim_start();
    // Statics of a thread change by types without a lock too, such as `Cell`.
    if line.contains("thread_local!") && !line.starts_with("//") {
        return true;
    }
    let declared = without_visibility(line).strip_prefix("static ");
    declared.is_some_and(|rest| CHANGING_TYPES.iter().any(|name| rest.contains(name)))
}

/// Returns a declaration without its `pub`, which may have a scope, such as `pub(crate)`.
fn without_visibility(line: &str) -> &str {
    let Some(rest) = line.strip_prefix("pub") else { return line };
    let rest = rest.strip_prefix('(').and_then(|scope| scope.split_once(')')).map_or(rest, |(_, rest)| rest);
    rest.trim_start()
}

#[test]
fn changing_static_is_found_with_every_visibility() {
    for line in [
        "static COUNT: AtomicU16 = AtomicU16::new(0);",
        "    pub static COUNT: AtomicU16 = AtomicU16::new(0);",
        "pub(crate) static ROWS: Mutex<Vec<u8>> = Mutex::new(Vec::new());",
        "pub(super) static ROWS: RwLock<Vec<u8>> = RwLock::new(Vec::new());",
        "pub(in crate::log) static HOOKS: Once = Once::new();",
        "std::thread_local! {",
        "thread_local!(static COUNT: Cell<u8> = const { Cell::new(0) });",
    ] {
        assert!(declares_changing_static(line), "{line}");
    }
    for line in [
        "pub(crate) static NAMES: &[&str] = &[];",
        "// thread_local! is not used.",
        "let state = Mutex::new(0);",
    ] {
        assert!(!declares_changing_static(line), "{line}");
    }
}

#[test]
fn statics_that_change_are_listed_with_a_reason() {
    let mut found: Vec<String> = rust_files()
        .into_iter()
        .filter(|file| !file.name.starts_with("tests/") && !file.name.ends_with("tests.rs"))
        .filter(|file| file.content.lines().any(declares_changing_static))
        .map(|file| file.name)
        .collect();
    found.sort();
    assert_eq!(
        found,
        CHANGING_STATICS.map(|(name, _)| name),
        "pass the state in from the start of the service"
    );
}

#[test]
fn packages_are_named_and_never_the_hosts_they_come_from() {
    // Put together here, so that this file does not name them either.
    let hosts = [
        ["crates", "io"].join("."),
        ["pypi", "org"].join("."),
        ["pythonhosted", "org"].join("."),
        ["npmjs", "org"].join("."),
        ["npmjs", "com"].join("."),
        ["deb.debian", "org"].join("."),
        ["proxy.golang", "org"].join("."),
    ];
    // Cargo writes its registry into the lock file.
    let wrong: Vec<_> = all_files()
        .into_iter()
        .filter(|file| file.name != "Cargo.lock")
        .flat_map(|file| file.lines_where(|line| hosts.iter().any(|host| line.contains(host))))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn readme_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(
        lines <= MAX_README_LINES,
        "README.md has {lines} lines, more than {MAX_README_LINES}: move reference to config/README.md"
    );
}

/// Returns every crate of the tree, with its modules.
fn crates() -> Vec<Crate> {
    let files = rust_files();
    ARROWS
        .iter()
        .map(|(folder, _)| if *folder == "." { "src".to_owned() } else { format!("{folder}/src") })
        .map(|folder| read_crate(&folder, &files))
        .collect()
}

/// Returns the code that only tests compile: the tests of each crate, and the files below `tests/`.
fn test_code() -> Vec<Crate> {
    let mut found: Vec<Crate> = crates().into_iter().map(Crate::into_tests).collect();
    found.push(read_crate("tests", &rust_files()));
    found
}

#[test]
fn modules_form_no_cycle() {
    let found: Vec<String> = crates().iter().flat_map(cycles::cycles).collect();
    assert!(
        found.is_empty(),
        "modules depend on each other in a circle; move what both need below them, or pass it in. A file that declares modules \
         uses their items or declares items for them, not both:\n{}",
        found.join("\n")
    );
}

#[test]
fn cycle_is_found_through_a_reexport() {
    let file = |name: &str, content: &str| File { name: name.to_owned(), content: content.to_owned() };
    let with_cycle = [
        file("x/src/lib.rs", "mod high; mod low; pub use high::Thing;"),
        file("x/src/high.rs", "use crate::low; pub struct Thing;"),
        file("x/src/low.rs", "fn make() -> crate::Thing { todo!() }"),
    ];
    let without = [
        file("x/src/lib.rs", "mod high; mod low;"),
        file("x/src/high.rs", "use super::low;"),
        file("x/src/low.rs", "#[cfg(test)] mod tests { use crate::high; }"),
    ];

    let found = cycles::cycles(&read_crate("x/src", &with_cycle));

    assert_eq!(found, ["x/src:\n    x/src/high.rs uses low\n    x/src/low.rs uses Thing"]);
    assert_eq!(cycles::cycles(&read_crate("x/src", &without)), [""; 0]);
}

#[test]
fn types_are_named_after_what_they_are() {
    let found: Vec<String> = crates().iter().flat_map(names::vague_types).collect();
    assert!(
        found.is_empty(),
        "name the type with a noun of its field, such as `SearchResponse` or `HostThrottle`: {found:#?}"
    );
}

#[test]
fn types_and_constants_of_tests_are_named_after_their_subject() {
    let tests = test_code();
    let mut found: Vec<String> = tests.iter().flat_map(names::vague_test_types).collect();
    found.extend(tests.iter().flat_map(names::vague_constants));
    assert!(found.is_empty(), "name what it is, such as `AuthorizationFlow` or `PageProgress`: {found:#?}");
}

#[test]
fn vague_names_of_tests_are_found_with_their_lines() {
    let file = |name: &str, content: &str| File { name: name.to_owned(), content: content.to_owned() };
    let files = [
        file("x/src/lib.rs", "#[cfg(test)]\nmod whole;\n\nenum Step {}"),
        file("x/src/whole.rs", "struct Scene;\nfn check() {\n    const MOST: u8 = 1;\n}"),
        file("x/src/part.rs", "#[cfg(test)]\nmod tests {\n    enum Step {}\n}"),
    ];

    let tests = read_crate("x/src", &files).into_tests();

    assert_eq!(names::vague_test_types(&tests), ["x/src/part.rs:3: Step", "x/src/whole.rs:1: Scene"]);
    assert_eq!(names::vague_constants(&tests), ["x/src/whole.rs:3: MOST"]);
}

#[test]
fn vague_and_repeated_names_are_found_with_their_lines() {
    let file = |name: &str, content: &str| File { name: name.to_owned(), content: content.to_owned() };
    let files = [
        file("x/src/lib.rs", "mod low;\n\npub struct Hold;\nconst NEVER_DUE: u8 = 1;\npub struct Ticket;"),
        file("x/src/low.rs", "/// A ticket.\npub enum Ticket {}"),
    ];

    let found = read_crate("x/src", &files);

    assert_eq!(files[1].lines_where(|line| line.contains("Ticket")), ["x/src/low.rs:2: pub enum Ticket {}"]);
    assert_eq!(names::vague_types(&found), ["x/src/lib.rs:3: Hold"]);
    assert_eq!(names::vague_constants(&found), ["x/src/lib.rs:4: NEVER_DUE"]);
    assert_eq!(names::repeated_types(&found, &[]), ["Ticket: x/src/lib.rs:5, x/src/low.rs:2"]);
}

#[test]
fn type_is_declared_once_in_a_crate() {
    let mut crates = crates();
    crates.push(read_crate("tests/e2e", &rust_files()));
    let found: Vec<String> = crates.iter().flat_map(|of| names::repeated_types(of, &LOCAL_TYPES)).collect();
    assert!(found.is_empty(), "give each of them the name of its own subject: {found:#?}");
}

#[test]
fn constants_name_their_subject_and_unit() {
    let found: Vec<String> = crates().iter().flat_map(names::vague_constants).collect();
    assert!(found.is_empty(), "say what it bounds and in what, such as `MAX_TITLE_CHARS`: {found:#?}");
}

#[test]
fn doc_comments_are_no_stock_phrases() {
    let found: Vec<String> = rust_files()
        .iter()
        .filter(|file| file.name != "tests/tidy/names.rs")
        .flat_map(names::stock_phrases)
        .collect();
    assert!(found.is_empty(), "say what holds for the caller, or leave the comment out: {found:#?}");
}

#[test]
fn names_of_tests_are_short() {
    let found: Vec<String> = rust_files().iter().flat_map(names::long_test_names).collect();
    assert!(found.is_empty(), "say subject, condition and expectation in 60 characters: {found:#?}");
}
