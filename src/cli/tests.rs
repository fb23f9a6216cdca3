//! Which command lines are accepted and which are refused, before anything is opened.

use clap::error::ErrorKind;

use super::*;

/// Settings with a separate folder, and with an address that nothing listens on.
pub fn settings(name: &str) -> Settings {
    let place = std::env::temp_dir().join(format!("carrel-cli-{name}-{}", std::process::id()));
    let variables =
        [("CARREL__DATA_DIR", place.to_string_lossy()), ("CARREL__SERVER__LISTEN", "127.0.0.1:1".into())];
    let owned = variables.map(|(name, value)| (name.to_owned(), value.into_owned()));
    Settings::load(None, owned.into_iter()).unwrap()
}

fn parse(line: &str) -> Result<Cli, clap::Error> {
    parse_arguments(std::iter::once("carrel").chain(line.split_whitespace()))
}

fn refused(line: &str) -> (ErrorKind, String) {
    let error = parse(line).unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn definitions_are_consistent() {
    command().debug_assert();
}

#[test]
fn no_subcommand_is_serve() {
    assert!(parse("").unwrap().command.is_none());
    assert!(matches!(parse("serve").unwrap().command, Some(Command::Serve)));
}

#[test]
fn settings_file_precedes_the_subcommand() {
    assert_eq!(parse("--config a.toml serve").unwrap().config, Some("a.toml".into()));
    assert_eq!(refused("serve --config a.toml").0, ErrorKind::UnknownArgument);
}

#[test]
fn every_subcommand_takes_json_at_its_end() {
    let lines = [
        "serve",
        "user add --email a@b.example --plan pro --name N --password-stdin",
        "user list",
        "user set-plan --email a@b.example --plan free",
        "user set-password --email a@b.example --password-stdin",
        "user disable --email a@b.example",
        "user enable --email a@b.example",
        "user set-operator --email a@b.example",
        "user set-operator --email a@b.example --remove",
        "user delete --email a@b.example --yes",
        "key create --user a@b.example --kind mcp --name N --scope read:library --scope write:notes \
         --hourly-limit 5 --expires-at 2030-01-01T00:00:00Z",
        "key list",
        "key list --user a@b.example",
        "key revoke 018f4d5e-0000-7000-8000-000000000000",
        "app list",
        "app disconnect --user a@b.example 018f4d5e-0000-7000-8000-000000000000",
        "project create --name N --description D --instructions I",
        "project list --status archived",
        "project archive 018f4d5e-0000-7000-8000-000000000000",
        "project activate --user a@b.example 018f4d5e-0000-7000-8000-000000000000",
        "import file.html",
        "import --user a@b.example --format jsonl -",
        "imports list --user a@b.example",
        "imports rows --user a@b.example --outcome skipped 018f4d5e-0000-7000-8000-000000000000",
        "imports undo --user a@b.example 018f4d5e-0000-7000-8000-000000000000",
        "jobs list",
        "jobs list --user a@b.example",
        "jobs retry 018f4d5e-0000-7000-8000-000000000000 018f4d5e-0000-7000-8000-000000000001",
        "ai pause",
        "ai resume",
        "ai status",
        "models pull",
        "models list",
        "models verify",
        "models import folder",
        "reindex",
        "reindex --to folder",
        "reindex --to server",
        "eval set --kind title --lexical --answers --features file --min title=0.9 --min all.mrr=0.5 --keep folder",
        "doctor",
        "doctor --repair",
        "migrate",
        "completions bash",
    ];
    for line in lines {
        assert!(parse(&format!("{line} --json")).unwrap().json, "{line}");
        assert!(!parse(line).unwrap().json, "{line}");
    }
}

#[test]
fn invalid_value_is_reported_with_the_allowed_ones() {
    let mistakes = [
        ("user add --email a@b.example --plan gold", "free, pro, research"),
        ("reindex --to disk", "folder, server"),
        ("key create --user a@b.example --kind web --name N", "rest, mcp"),
        ("key create --user a@b.example --kind mcp --name N --scope all", "read:library"),
        ("key create --user a@b.example --kind mcp --name N --hourly-limit 0", "1.."),
        ("key create --user a@b.example --kind mcp --name N --expires-at tomorrow", "2030-05-06T07:08:09Z"),
        ("key revoke 7", "carrel key list"),
        ("imports show --user a@b.example 7", "carrel imports list"),
        ("imports rows --user a@b.example --outcome lost", "skipped"),
        ("import --user a@b.example --format html -", "jsonl"),
        ("app disconnect 7", "carrel app list"),
        ("jobs retry 7", "carrel jobs list"),
        ("project archive 7", "carrel project list"),
        ("project activate 7", "carrel project list"),
        ("project list --status done", "active, archived"),
        ("eval set --min title=high", "title.mrr=0.9"),
        ("completions ksh", "bash"),
    ];
    for (line, allowed) in mistakes {
        let (_, message) = refused(line);
        assert!(message.contains(allowed), "{line}: {message}");
    }
}

#[test]
fn help_of_import_lists_every_format() {
    let help = refused("import --help").1;

    for format in parse::bookmarks::Format::NAMES {
        assert!(help.contains(&format!("- {format}:")), "{format}: {help}");
    }
}

#[test]
fn help_of_a_subcommand_has_the_note_on_settings() {
    for line in ["user add --help", "user --help", "serve --help"] {
        let help = refused(line).1;

        // The help may be wrapped to the width of the terminal.
        let words: Vec<&str> = help.split_whitespace().collect();
        assert!(words.join(" ").contains(CONFIG_NOTE), "{line}: {help}");
    }
}

#[test]
fn key_name_that_is_blank_endless_or_deceiving_is_refused() {
    let deceiving = ["a\nb", "a\u{1b}[31mb", "\u{202e}gpj.exe", "a\u{2067}b"].map(str::to_owned);
    for name in [String::new(), " ".to_owned(), "x".repeat(301)].into_iter().chain(deceiving) {
        let args = ["carrel", "key", "create", "--user", "a@b.example", "--kind", "mcp", "--name", &name];
        assert!(parse_arguments(args).is_err(), "{name:?}");
    }
}

#[test]
fn unknown_or_incomplete_command_is_refused() {
    assert_eq!(refused("no-such-command").0, ErrorKind::InvalidSubcommand);
    assert_eq!(refused("user set-plan --email a@b.example").0, ErrorKind::MissingRequiredArgument);
    assert_eq!(refused("import --user a@b.example --format jsonl").0, ErrorKind::MissingRequiredArgument);
    assert_eq!(refused("jobs retry").0, ErrorKind::MissingRequiredArgument);
    assert_eq!(refused("ai").0, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand);
}

#[test]
fn password_is_never_an_argument() {
    assert_eq!(
        refused("user add --email a@b.example --plan pro --password secret").0,
        ErrorKind::UnknownArgument
    );
}
