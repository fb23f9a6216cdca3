//! Tests of loading the settings: the precedence of the layers, and the reports of faults.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use values::plan::Plan;

use super::*;

fn with(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    Settings::load(None, owned(variables))
}

fn owned(variables: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    let owned: Vec<_> = variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    owned.into_iter()
}

fn report(variables: &[(&str, &str)]) -> String {
    with(variables).expect_err("refused").to_string()
}

/// Returns the report of each variable alone, without its source.
fn brief_report(variables: &[(&str, &str)]) -> String {
    let brief = |(name, value): &(&str, &str)| {
        let said = report(&[(&format!("CARREL__{name}"), value)]);
        said.split_once(" (from ").unwrap().0.to_owned()
    };
    variables.iter().map(brief).collect::<Vec<_>>().join("\n")
}

/// A settings file that is deleted when the test ends.
struct File(PathBuf);

impl File {
    fn new(name: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("carrel-settings-{}-{name}.toml", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    fn load(&self, variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::load(Some(&self.0), owned(variables))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn defaults_are_complete_and_match_the_contract() {
    let settings = with(&[]).unwrap();

    assert_eq!(settings.server.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.base_url(settings.server.listen).as_str(), "http://127.0.0.1:8080");
    assert_eq!(settings.data_dir, PathBuf::from("./data"));
    assert_eq!(settings.database_url().expose(), "sqlite://./data/carrel.db?mode=rwc");
    assert_eq!(settings.server.max_body_bytes, 32 << 20);
    assert_eq!(settings.fetch.timeout, Duration::from_secs(30));
    assert_eq!(settings.activity.retention, Duration::from_secs(90 * 86_400));
    assert_eq!(settings.accounts.signup, Access::Closed);
    assert_eq!(settings.accounts.default_plan, Plan::Free);
    assert_eq!(settings.oauth.registration, Access::Open);
    assert_eq!(settings.plans.limits(Plan::Pro).rest_per_day, 10_000);
    assert_eq!(settings.plans.limits(Plan::Research).stored_bytes, 200 << 30);
    assert_eq!(Plan::ALL.map(|plan| settings.plans.limits(plan).library_bytes >> 30), [1, 20, 100]);
    assert_eq!(Plan::ALL.map(|plan| settings.plans.limits(plan).transfer_bytes >> 30), [1, 40, 300]);
    assert!(settings.mail.url.is_none() && settings.ai.chat.key.is_none() && settings.models.dir.is_none());
    assert!(settings.fetch.allow_private.is_empty() && settings.warnings().is_empty());
}

#[test]
fn environment_overrides_file_and_file_overrides_defaults() {
    let file = File::new("layers", "[plans.pro]\nhourly_per_key = 44\nanswers_per_month = 55\n");

    let settings = file.load(&[("CARREL__PLANS__PRO__HOURLY_PER_KEY", "33")]).unwrap();

    let pro = settings.plans.limits(Plan::Pro);
    assert_eq!((pro.hourly_per_key, pro.answers_per_month, pro.rest_per_day), (33, 55, 10_000));
}

#[test]
fn value_is_parsed_as_the_type_of_its_setting() {
    let settings = with(&[
        ("CARREL__DATA_DIR", "07"),
        ("CARREL__AI__CHAT__URL", "http://127.0.0.1:9/v1/"),
        ("CARREL__AI__CHAT__MODEL", "123"),
        ("CARREL__AI__CHAT__KEY", "true"),
        ("CARREL__AI__DAILY_TOKENS", "007"),
        ("CARREL__MODELS__AUTO", "true"),
    ])
    .unwrap();

    assert_eq!(settings.data_dir, PathBuf::from("07"));
    assert_eq!(settings.ai.chat.model.as_deref(), Some("123"));
    assert_eq!(settings.ai.chat.key.unwrap().expose(), "true");
    assert_eq!(settings.ai.chat.url.unwrap().as_str(), "http://127.0.0.1:9/v1");
    assert_eq!(settings.ai.daily_tokens, 7);
    assert!(settings.models.auto);
}

#[test]
fn models_are_in_their_folder_only() {
    let folder = |dir: Option<&str>| {
        let dir = dir.map(|dir| ("CARREL__MODELS__DIR", dir));
        with(&[("CARREL__DATA_DIR", "library")].into_iter().chain(dir).collect::<Vec<_>>())
            .unwrap()
            .models_folder()
    };

    assert_eq!(folder(None), PathBuf::from("library/models"));
    assert_eq!(folder(Some("shared")), PathBuf::from("shared"));
}

#[test]
fn number_is_read_as_text_and_text_as_list_where_expected() {
    let file = File::new(
        "forms",
        "data_dir = 7\n[fetch]\nallow_private = '10.0.0.0/8, ::1'\n[ai]\ndaily_tokens = '5'\n[server]\ntrusted_proxies = ['10.0.0.7']\n",
    );

    let settings = file.load(&[]).unwrap();

    assert_eq!(settings.data_dir, PathBuf::from("7"));
    assert_eq!(settings.fetch.allow_private.len(), 2);
    assert_eq!(settings.ai.daily_tokens, 5);
    assert_eq!(settings.server.trusted_proxies[0].to_string(), "10.0.0.7/32");
}

#[test]
fn empty_text_is_none_or_an_empty_list() {
    let file =
        File::new("empty", "[mail]\nurl = 'smtp://127.0.0.1:25'\n[fetch]\nallow_private = ['127.0.0.1']\n");

    let settings = file.load(&[("CARREL__MAIL__URL", ""), ("CARREL__FETCH__ALLOW_PRIVATE", "")]).unwrap();

    assert!(settings.mail.url.is_none());
    assert!(settings.fetch.allow_private.is_empty());
}

#[test]
fn invalid_value_is_reported_with_the_allowed_values() {
    let said = brief_report(&[
        ("SERVER__LISTEN", "banana"),
        ("SERVER__LISTEN", ""),
        ("ACCOUNTS__SIGNUP", "perhaps"),
        ("ACCOUNTS__DEFAULT_PLAN", "gold"),
        ("PLANS__PRO__REST_PER_DAY", "-3"),
        ("PLANS__PRO__STORED_BYTES", "-3"),
        ("OAUTH__CODE_SECONDS", "soon"),
        ("OAUTH__CODE_SECONDS", "601"),
        ("FETCH__ALLOW_PRIVATE", "127.0.0.1,10.0.0.0/99"),
        ("MODELS__AUTO", "yes"),
        ("LOG__LEVEL", "inof"),
    ]);

    insta::assert_snapshot!(said, @r#"
    setting server.listen = "banana": expected an IP address and port like 127.0.0.1:8080
    setting server.listen = "": expected an IP address and port like 127.0.0.1:8080
    setting accounts.signup = "perhaps": expected one of closed, open
    setting accounts.default_plan = "gold": expected one of free, pro, research
    setting plans.pro.rest_per_day = -3: expected a whole number from 0 to 4294967295
    setting plans.pro.stored_bytes = -3: expected a whole number, 0 or more
    setting oauth.code_seconds = "soon": expected a whole number from 1 to 600
    setting oauth.code_seconds = 601: expected a whole number from 1 to 600
    setting fetch.allow_private = ["127.0.0.1", "10.0.0.0/99"]: expected a network like 10.1.0.0/16 or an IP address
    setting models.auto = "yes": expected true or false
    setting log.level = "inof": expected one of error, warn, info, debug, trace and off, or a list like info,carrel=debug
    "#);
}

#[test]
fn unknown_name_is_reported_with_the_known_names() {
    let said = brief_report(&[
        ("SERVER__NOPE", "1"),
        ("NOPE__NOPE", "1"),
        ("SERVER__LISTEN__PORT", "1"),
        ("MAIL", "smtp://h"),
    ]);

    insta::assert_snapshot!(said, @r#"
    unknown setting server.nope = "1": expected one of base_url, body_grace_seconds, listen, max_body_bytes, max_connections_per_address, metrics_listen, trusted_proxies, write_timeout_seconds
    unknown setting nope.nope = "1": expected one of accounts, activity, ai, auth, data_dir, database, feeds, fetch, files, ingest, log, mail, mcp, models, oauth, plans, server, storage, uploads, vectors
    unknown setting server.listen.port = "1": expected one of base_url, body_grace_seconds, listen, max_body_bytes, max_connections_per_address, metrics_listen, trusted_proxies, write_timeout_seconds
    setting mail = (hidden): expected a section of settings
    "#);
}

#[test]
fn fault_names_the_source_of_its_value() {
    insta::assert_snapshot!(report(&[("CARREL__SERVER__LISTEN", "banana")]), @r#"setting server.listen = "banana": expected an IP address and port like 127.0.0.1:8080 (from the environment variable CARREL__SERVER__LISTEN)"#);
}

#[test]
fn faults_of_all_layers_are_reported_at_once() {
    let file = File::new("many", "[server]\nlisten = 80\nnope = true\n[nope]\na = 1\n");

    let said = file
        .load(&[("CARREL__INGEST__WORKERS", "0"), ("CARREL__OTHER", "x"), ("CARREL__LOG__FORMAT", "xml")])
        .expect_err("refused")
        .to_string()
        .replace(&file.0.display().to_string(), "FILE");

    insta::assert_snapshot!(said, @r#"
    unknown setting nope = {...}: expected one of accounts, activity, ai, auth, data_dir, database, feeds, fetch, files, ingest, log, mail, mcp, models, oauth, plans, server, storage, uploads, vectors (from the file FILE)
    unknown setting server.nope = true: expected one of base_url, body_grace_seconds, listen, max_body_bytes, max_connections_per_address, metrics_listen, trusted_proxies, write_timeout_seconds (from the file FILE)
    unknown setting other = "x": expected one of accounts, activity, ai, auth, data_dir, database, feeds, fetch, files, ingest, log, mail, mcp, models, oauth, plans, server, storage, uploads, vectors (from the environment variable CARREL__OTHER)
    setting ingest.workers = 0: expected a whole number from 1 to 64 (from the environment variable CARREL__INGEST__WORKERS)
    setting log.format = "xml": expected one of text, json (from the environment variable CARREL__LOG__FORMAT)
    setting server.listen = "80": expected an IP address and port like 127.0.0.1:8080 (from the file FILE)
    "#);
}

#[test]
fn missing_or_invalid_file_is_reported_without_its_text() {
    let file = File::new("broken", "[ai.chat]\nkey = sk-canary-of-a-secret\n");

    let broken = file.load(&[]).expect_err("refused").to_string();
    let absent = Settings::load(Some(Path::new("/nowhere/own.toml")), owned(&[])).expect_err("refused");

    insta::assert_snapshot!(broken.replace(&file.0.display().to_string(), "FILE"), @"could not read the settings of FILE, line 2: string values must be quoted, expected literal string");
    insta::assert_snapshot!(absent, @"could not read the settings of /nowhere/own.toml: No such file or directory (os error 2)");
}

#[test]
fn secrets_are_never_shown() {
    let right = with(&[
        ("CARREL__DATABASE__URL", "postgres://me:canary@db/carrel"),
        ("CARREL__MAIL__URL", "smtps://me:canary@mail"),
        ("CARREL__FILES__URL", "s3://bucket/prefix"),
        ("CARREL__FILES__SECRET_KEY", "canary"),
        ("CARREL__AI__CHAT__KEY", "canary"),
    ])
    .unwrap();
    let wrong = report(&[
        ("CARREL__DATABASE__URL", "mysql://me:can@ary/canary@db/carrel?password=canary"),
        ("CARREL__MAIL__URL", "http://me:canary@mail?auth=canary"),
        ("CARREL__FILES__SECRET_KEY", "canary canary"),
        ("CARREL__AI__CHAT__KEY", "canary canary"),
        ("CARREL__AI__CHAT__KYE", "canary"),
        ("CARREL__DATABASE__PASSWORD", "canary"),
        ("CARREL__VECTORS__URL", "http://me:canary@qdrant"),
    ]);

    assert!(!format!("{right:?}").contains("canary"), "{right:?}");
    assert_eq!(right.database.url.as_ref().map(DatabaseUrl::is_postgres), Some(true));
    insta::assert_snapshot!(wrong, @r#"
    unknown setting ai.chat.kye = (hidden): expected one of key, model, url (from the environment variable CARREL__AI__CHAT__KYE)
    unknown setting database.password = (hidden): expected one of url (from the environment variable CARREL__DATABASE__PASSWORD)
    setting ai.chat.key = (hidden): expected a key of visible ASCII characters (from the environment variable CARREL__AI__CHAT__KEY)
    setting database.url = "(hidden)": expected sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME (from the environment variable CARREL__DATABASE__URL)
    setting files.secret_key = (hidden): expected a key of visible ASCII characters (from the environment variable CARREL__FILES__SECRET_KEY)
    setting mail.url = "http://***@mail?***": expected smtp://HOST:PORT, smtps://USER:PASSWORD@HOST or file://FOLDER (from the environment variable CARREL__MAIL__URL)
    setting vectors.url = "http://***@qdrant": expected an http or https URL, without user name, password, query and fragment (from the environment variable CARREL__VECTORS__URL)
    "#);
}

/// Returns the dotted names of all settings of a table, each with the prefix of its section.
fn names_of(section: &str, table: &toml::Table) -> Vec<String> {
    let mut names = Vec::new();
    for (name, value) in table {
        match value.as_table() {
            Some(table) => names.extend(names_of(&format!("{section}{name}."), table)),
            None => names.push(format!("{section}{name}")),
        }
    }
    names
}

fn variable(setting: &str) -> String {
    format!("CARREL__{}", setting.replace('.', "__").to_uppercase())
}

#[test]
fn every_setting_of_type_secret_is_hidden() {
    let defaults: toml::Table = toml::from_str(include_str!("../../config/default.toml")).unwrap();
    let is_secret = |setting: &String| {
        // A value with a space is refused by the type, which is named in the fault.
        let refused = with(&[(&variable(setting), "a b")]).err();
        refused.is_some_and(|error| error.to_string().contains("expected a key of visible ASCII characters"))
    };
    let mut secrets: Vec<_> = names_of("", &defaults).into_iter().filter(is_secret).collect();
    secrets.sort();
    let expected = [
        "ai.chat.key",
        "ai.embedding.key",
        "ai.transcription.key",
        "files.access_key",
        "files.secret_key",
        "vectors.key",
    ];
    assert_eq!(secrets, expected);

    for secret in secrets {
        let (section, name) = secret.rsplit_once('.').unwrap();
        let misspelled = [
            format!("{section}.kye"),
            format!("{section}.{name}x"),
            format!("{section}.x.{name}"),
            format!("{secret}.x"),
        ];
        let file = |name: &str, value: &str| {
            let (section, name) = name.rsplit_once('.').unwrap();
            let file = File::new("secrets", &format!("[{section}]\n{name} = {value}\n"));
            file.load(&[]).expect_err("refused").to_string()
        };

        for value in ["canary canary", "\u{201c}canary\u{201d}", "canary\ncanary"] {
            assert_hidden(&report(&[(&variable(&secret), value)]));
            assert_hidden(&file(&secret, &format!("{value:?}")));
        }
        for value in ["canary", "canary canary", "\u{201c}canary\u{201d}"] {
            for name in &misspelled {
                assert_hidden(&report(&[(&variable(name), value)]));
            }
            assert_hidden(&file(&misspelled[0], &format!("{value:?}")));
            assert_hidden(&file(&secret, &format!("[{value:?}]")));
            // The key in the place of its section.
            assert_hidden(&report(&[(&variable(section), value)]));
        }
    }
}

#[track_caller]
fn assert_hidden(report: &str) {
    assert!(report.contains("(hidden)") && !report.contains("canary"), "{report}");
}

#[test]
fn password_of_url_without_scheme_is_not_shown() {
    let said = brief_report(&[
        ("DATABASE__URL", "postgres:me:canary@db/carrel?auth=canary"),
        ("MAIL__URL", "me:canary@mail"),
        ("MAIL__FROM", "a b@c d@"),
    ]);

    insta::assert_snapshot!(said, @r#"
    setting database.url = "***@db/carrel?***": expected sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME
    setting mail.url = "***@mail": expected smtp://HOST:PORT, smtps://USER:PASSWORD@HOST or file://FOLDER
    setting mail.from = "a b@c d@": expected a sender like carrel@example.org
    "#);
}

#[test]
fn base_url_has_no_slash_and_warns_about_http_of_other_machines() {
    let base = |written: &str| with(&[("CARREL__SERVER__BASE_URL", written)]).unwrap();
    let one = base("HTTPS://Library.Example.org:443/carrel/").server.base_url.unwrap();

    assert_eq!(one.as_str(), "https://library.example.org/carrel");
    assert_eq!((one.origin().as_str(), one.path()), ("https://library.example.org", "/carrel"));
    assert_eq!(base("https://a.example/").server.base_url.unwrap().as_str(), "https://a.example");
    assert!(base("http://[::1]:8080").warnings().is_empty());
    insta::assert_snapshot!(base("http://library.example.org").warnings().join("\n"), @"server.base_url is http://library.example.org: without https, keys and passwords can be read in transit, and assistants refuse to sign in (OAuth 2.1, section 1.5)");
    for wrong in
        ["library.example.org", "ftp://a.example", "https://a.example/?q", "https://me:pw@a.example", "/x"]
    {
        assert!(report(&[("CARREL__SERVER__BASE_URL", wrong)]).contains("server.base_url"), "{wrong}");
    }
}

#[test]
fn service_on_all_addresses_has_a_loopback_base_url() {
    let settings = with(&[("CARREL__SERVER__LISTEN", "[::]:0")]).unwrap();

    assert_eq!(settings.base_url("0.0.0.0:81".parse().unwrap()).as_str(), "http://127.0.0.1:81");
    assert_eq!(settings.base_url("[::]:81".parse().unwrap()).as_str(), "http://[::1]:81");
}

#[test]
fn urls_have_the_scheme_of_their_setting() {
    let fits = |name: &str, value: &str| with(&[(name, value)]).is_ok();
    for (name, right, wrong) in [
        ("CARREL__MAIL__URL", "file://letters", "file://"),
        ("CARREL__MAIL__URL", "smtp://127.0.0.1:2525", "127.0.0.1:2525"),
        ("CARREL__DATABASE__URL", "postgres:///carrel?host=/run/pg", "postgres"),
        ("CARREL__DATABASE__URL", "sqlite:/tmp/a.db", "sqlite:"),
        ("CARREL__FILES__URL", "/var/lib/carrel", "gs://bucket"),
        ("CARREL__FILES__URL", "s3://bucket", "s3://"),
        ("CARREL__VECTORS__URL", "http://127.0.0.1:6334", "qdrant:6334"),
        ("CARREL__MAIL__FROM", "Carrel <carrel@example.org>", "Carrel"),
        ("CARREL__MCP__ALLOWED_ORIGINS", "https://a.example,vscode-webview://x", "https://a.example/path"),
        ("CARREL__LOG__LEVEL", "info,carrel=debug,sqlx=off", "loud"),
    ] {
        assert!(fits(name, right), "{name} {right}");
        assert!(!fits(name, wrong), "{name} {wrong}");
    }
}

#[test]
fn endpoint_needs_the_name_of_its_model() {
    insta::assert_snapshot!(report(&[("CARREL__AI__CHAT__URL", "http://127.0.0.1:9")]), @r#"setting ai.chat.model = "": expected the name of a model, because ai.chat.url is set"#);
}

#[test]
fn settings_of_a_qdrant_server_fit_together() {
    let url = ("CARREL__VECTORS__URL", "http://qdrant.example:6334");
    let key = ("CARREL__VECTORS__KEY", "a-secret");
    insta::assert_snapshot!(report(&[key]), @r#"setting vectors.url = "": expected the URL of a Qdrant server, because vectors.key is set"#);
    insta::assert_snapshot!(report(&[("CARREL__VECTORS__WRITE_CONSISTENCY", "2")]), @r#"setting vectors.write_consistency = "2": expected at most vectors.replication_factor = 1"#);
    assert!(!report(&[("CARREL__VECTORS__COLLECTION", "a/b")]).is_empty());

    let warnings = |settings: &[(&str, &str)]| with(settings).unwrap().warnings();
    assert_eq!(
        warnings(&[url, key]),
        ["vectors.url is http://qdrant.example:6334: without https, vectors.key can be read in transit"]
    );
    assert!(warnings(&[url]).is_empty());
    assert!(warnings(&[("CARREL__VECTORS__URL", "http://127.0.0.1:6334"), key]).is_empty());
}

#[test]
fn model_of_search_is_one_of_the_catalogue() {
    assert_eq!(with(&[]).unwrap().embedding_model().unwrap().name, "all-minilm-l6-v2");
    let multilingual = with(&[("CARREL__MODELS__EMBEDDING", "multilingual-e5-small")]).unwrap();
    assert_eq!(multilingual.embedding_model().unwrap().name, "multilingual-e5-small");
    let catalogue = Catalogue::built_in();
    assert!(multilingual.uses_model(catalogue.get("multilingual-e5-small").unwrap()));
    assert!(!multilingual.uses_model(catalogue.get("all-minilm-l6-v2").unwrap()));

    insta::assert_snapshot!(report(&[("CARREL__MODELS__EMBEDDING", "whisper-base")]), @r#"setting models.embedding = "whisper-base": expected one of all-minilm-l6-v2, multilingual-e5-small"#);
}

#[test]
fn embedding_endpoint_replaces_the_local_model() {
    let endpoint =
        [("CARREL__AI__EMBEDDING__URL", "http://127.0.0.1:9/v1"), ("CARREL__AI__EMBEDDING__MODEL", "m")];
    let prefix = ("CARREL__AI__EMBEDDING__QUERY_PREFIX", "query: ");
    let settings = with(&[endpoint[0], endpoint[1], prefix]).unwrap();

    assert!(settings.embedding_model().is_none());
    assert_eq!(settings.ai.embedding.query_prefix, "query: ", "with the space at its end");
    insta::assert_snapshot!(report(&endpoint[..1]), @r#"setting ai.embedding.model = "": expected the name of a model, because ai.embedding.url is set"#);
}

#[test]
fn metrics_need_another_address_than_the_server() {
    let load = |listen: &str, metrics: &str| {
        with(&[("CARREL__SERVER__LISTEN", listen), ("CARREL__SERVER__METRICS_LISTEN", metrics)])
    };

    for (listen, metrics) in
        [("127.0.0.1:81", "127.0.0.1:81"), ("0.0.0.0:81", "127.0.0.1:81"), ("[::1]:81", "[::]:81")]
    {
        let said = load(listen, metrics).expect_err("refused").to_string();
        let expected = format!(
            "setting server.metrics_listen = \"{metrics}\": expected an address and port other than server.listen = {listen}"
        );
        assert_eq!(said, expected);
    }
    for (listen, metrics) in [
        ("127.0.0.1:81", "127.0.0.1:82"),
        ("127.0.0.1:0", "127.0.0.1:0"),
        ("127.0.0.1:81", "[::1]:81"),
        ("127.0.0.1:81", "127.0.0.2:81"),
    ] {
        assert!(load(listen, metrics).is_ok(), "{listen} {metrics}");
    }
}

#[test]
fn unknown_database_parameter_is_refused_without_its_value() {
    let said = brief_report(&[
        ("DATABASE__URL", "postgres://u:canary@db/n?sslcompresion=canary"),
        ("DATABASE__URL", "postgres://u:canary@db/n?sslmode=canary"),
        ("DATABASE__URL", "postgres://u@db/n?sslpassword=canary"),
        ("DATABASE__URL", "sqlite:/tmp/x.db?mode=canary"),
        ("DATABASE__URL", "sqlite:///tmp/x.db?key=canary"),
    ]);

    assert!(!said.contains("canary"), "{said}");
    let known = "sslmode, sslrootcert, sslcert, sslkey, statement-cache-capacity, host, hostaddr, port, dbname, user, \
                 password, application_name, options";
    let expected = [
        format!("\"postgres://***@db/n?***\": expected a URL without the unknown parameter sslcompresion; known are {known}"),
        "\"postgres://***@db/n?***\": expected a URL whose parameter sslmode is one of disable, allow, prefer, require, \
         verify-ca and verify-full"
            .to_owned(),
        format!("\"(hidden)\": expected a URL without the unknown parameter sslpassword; known are {known}"),
        "\"sqlite:/tmp/x.db?***\": expected a URL whose parameter mode is one of ro, rw, rwc and memory".to_owned(),
        "\"sqlite:///tmp/x.db?***\": expected a URL without the unknown parameter key; known are mode, cache, immutable, vfs"
            .to_owned(),
    ];
    for (line, expected) in said.lines().zip(expected) {
        assert_eq!(line, format!("setting database.url = {expected}"));
    }
}

#[test]
fn every_setting_has_a_comment_or_an_explained_section() {
    let lines: Vec<_> = include_str!("../../config/default.toml").lines().collect();
    let bare: BTreeSet<_> = lines
        .windows(2)
        .filter(|pair| pair[1].contains(" = ") && !pair[1].starts_with('#') && !pair[0].starts_with('#'))
        .filter(|pair| !pair[0].starts_with("[plans.") && !pair[0].contains(" = "))
        .map(|pair| pair[1])
        .collect();
    assert!(bare.is_empty(), "{bare:?}");
}

proptest! {
    #[test]
    fn no_value_makes_parsing_panic_or_its_report_span_lines(
        name in "(SERVER__LISTEN|SERVER__BASE_URL|AI__CHAT__KEY|MAIL__URL|FETCH__ALLOW_PRIVATE|PLANS__PRO__MCP_KEYS|[A-Z_]{0,12})",
        value in "\\PC{0,40}|[\\x00-\\x7f]{0,40}|.{0,200}",
    ) {
        if let Err(error) = with(&[(&format!("CARREL__{name}"), &value)]) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}
