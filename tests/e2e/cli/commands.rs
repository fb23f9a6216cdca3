//! Output, prompts and errors of the command line.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::program::{
    CommandOutput, EMAIL, PASSWORD, command_output, command_output_on_terminal, create_account,
    create_account_with_email, run_command,
};
use crate::support::{Home, Key, OAuthClient, Program, Reply, S3Bucket, Site, eventually};

/// SQLite in the data folder, whichever database the run selects.
const OWN_DATABASE: (&str, &str) = ("DATABASE__URL", "");
/// The base URL of the server.
const BASE_URL: &str = "http://127.0.0.1:9";

#[track_caller]
fn assert_fails(output: &CommandOutput, words: &[&str]) {
    assert_eq!(output.code, Some(1), "{output:?}");
    for word in words {
        assert!(output.stderr.contains(word), "{word}: {output:?}");
    }
}

#[track_caller]
fn assert_succeeds(output: &CommandOutput, words: &[&str]) {
    assert_eq!(output.code, Some(0), "{output:?}");
    for word in words {
        assert!(output.stdout.contains(word), "{word}: {output:?}");
    }
}

/// Saves a page that its site does not have and waits until it has failed. Returns the save's answer.
async fn save_missing_page(key: &Key, site: &Site) -> Value {
    let page = key.save(json!({ "url": site.page("/gone", [Reply::Status(404)]) })).await;
    key.wait_for(&page, "failed").await;
    page
}

#[actix_web::test]
async fn command_without_database_names_the_searched_path() {
    let home = Home::new().await;
    let file = home.path("data").join("carrel.db");
    let id = "018f4d5e-0000-7000-8000-000000000000";
    let commands: [&[&str]; 11] = [
        &["user", "list"],
        &["user", "delete", "--email", EMAIL, "--yes"],
        &["key", "list"],
        &["key", "revoke", id],
        &["app", "list"],
        &["project", "list"],
        &["import", "-"],
        &["imports", "list"],
        &["export", "out.zip"],
        &["ai", "status"],
        &["reindex"],
    ];

    for command in commands {
        let output = command_output(&home, command, "", &[OWN_DATABASE]);
        assert_fails(
            &output,
            &[file.to_str().unwrap(), "setting data_dir", "CARREL__DATA_DIR", "carrel user add"],
        );
    }
    assert!(!home.path("data").exists());

    let add = ["user", "add", "--email", EMAIL, "--plan", "pro", "--password-stdin"];
    assert_succeeds(&command_output(&home, &add, PASSWORD, &[OWN_DATABASE]), &[EMAIL]);
    assert_succeeds(&command_output(&home, &["user", "list"], "", &[OWN_DATABASE]), &[EMAIL]);
}

#[actix_web::test]
async fn database_without_tables_is_named_by_its_setting() {
    let home = Home::new().await;

    let output = command_output(&home, &["user", "list"], "", &[]);

    assert_fails(&output, &["no Carrel database exists", "setting database.url", "CARREL__DATABASE__URL"]);
}

#[actix_web::test]
async fn unreachable_database_is_named_with_setting_and_cause() {
    let home = Home::new().await;
    // Bound and closed again, so that the connection is refused.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgres://reader:canary@{free}/rows");

    for command in [&["user", "list"][..], &["serve"]] {
        let output = command_output(&home, command, "", &[("DATABASE__URL", &url)]);

        let place = format!("rows of PostgreSQL on {free} (setting database.url)");
        assert_fails(&output, &[&place, "refused", "make sure that PostgreSQL is running"]);
        assert!(!output.stderr.contains("canary"), "{output:?}");
    }
}

#[actix_web::test]
async fn errors_are_json_with_json() {
    let home = Home::new().await;
    let error = |args: &[&str]| {
        let output = command_output(&home, args, "", &[OWN_DATABASE]);
        assert_eq!(output.stdout, "");
        let body: Value = serde_json::from_str(&output.stderr).unwrap();
        (output.code, body["error"]["code"].clone(), body["error"]["message"].as_str().unwrap().to_owned())
    };

    let (code, name, message) = error(&["user", "list", "--json"]);
    assert_eq!((code, name), (Some(1), json!("NO_DATABASE")));
    assert!(message.starts_with("no Carrel database exists"), "{message}");
    let (code, name, message) = error(&["--json", "no-such-command"]);
    assert_eq!((code, name), (Some(2), json!("USAGE")));
    assert!(message.contains("no-such-command"), "{message}");
}

#[actix_web::test]
async fn second_account_with_same_email_is_refused_with_the_email() {
    let home = Home::new().await;
    create_account(&home);

    // The command asks for no password.
    let output =
        command_output(&home, &["user", "add", "--email", "READER@reader.example", "--plan", "pro"], "", &[]);

    assert_fails(&output, &["an account with the e-mail address reader@reader.example exists already"]);
}

#[actix_web::test]
async fn first_account_is_the_operator_until_others_are_named() {
    let home = Home::new().await;
    create_account(&home);
    create_account_with_email(&home, "other@reader.example");
    let operators = || {
        let listed = run_command(&home, &["user", "list"], "");
        let users = listed["users"].as_array().unwrap().clone();
        users.iter().map(|user| user["operator"].as_bool().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(operators(), [true, false]);

    let named = run_command(&home, &["user", "set-operator", "--email", "other@reader.example"], "");
    run_command(&home, &["user", "set-operator", "--email", EMAIL, "--remove"], "");

    assert_eq!((&named["operator"], operators()), (&json!(true), vec![false, true]));
}

#[actix_web::test]
async fn account_deletion_is_confirmed_with_the_email() {
    let home = Home::new().await;
    create_account(&home);
    let delete = ["user", "delete", "--email", EMAIL];
    let accounts = || run_command(&home, &["user", "list"], "")["users"].as_array().unwrap().len();

    assert_fails(&command_output(&home, &delete, &format!("{EMAIL}\n"), &[]), &["--yes"]);
    let refused = command_output_on_terminal(&home, &delete, "yes\n");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stdout.contains("Type the e-mail address") && refused.stdout.contains("nothing was deleted")
    );
    assert_eq!(accounts(), 1);

    let deleted = command_output_on_terminal(&home, &delete, &format!("{EMAIL}\n"));
    assert_eq!((deleted.code, accounts()), (Some(0), 0), "{deleted:?}");

    create_account(&home);
    assert_eq!(run_command(&home, &[&delete[..], &["--yes"]].concat(), "")["deleted"], true);
    assert_eq!(accounts(), 0);
}

#[actix_web::test]
async fn single_account_is_selected_without_email() {
    let home = Home::new().await;
    create_account(&home);

    assert_eq!(run_command(&home, &["key", "list"], "")["keys"].as_array().unwrap().len(), 1);
    create_account_with_email(&home, "other@reader.example");

    assert_fails(&command_output(&home, &["key", "list"], "", &[]), &["2 accounts exist", "--user EMAIL"]);
    let named = ["key", "list", "--user", "other@reader.example"];
    assert_eq!(run_command(&home, &named, "")["keys"].as_array().unwrap().len(), 1);
}

#[actix_web::test]
async fn keys_are_shown_with_expiry_and_hourly_limit() {
    let home = Home::new().await;
    create_account(&home);
    let create = ["key", "create", "--kind", "mcp", "--name", "short"];
    let bounded = ["--hourly-limit", "7", "--expires-at", "2099-05-06T07:08:09Z"];

    let bounded = command_output(&home, &[&create[..], &bounded].concat(), "", &[]);
    let free = command_output(&home, &create, "", &[]);

    assert_succeeds(&bounded, &["7 requests per hour, expires 2099-05-06T07:08:09.000Z"]);
    assert!(bounded.stdout.starts_with("pk_"), "{bounded:?}");
    assert_succeeds(&free, &["requests per hour, does not expire"]);
    let listed = command_output(&home, &["key", "list"], "", &[]);
    assert_succeeds(&listed, &["EXPIRES", "PER HOUR", "2099-05-06T07:08:09.000Z"]);
}

#[actix_web::test]
async fn set_password_reports_its_effects() {
    let home = Home::new().await;
    create_account(&home);

    let set = ["user", "set-password", "--email", EMAIL, "--password-stdin"];
    let output = command_output(&home, &set, "another long pass 9!\n", &[]);

    assert_succeeds(
        &output,
        &["set the password of reader@reader.example", "its sessions have ended", "API keys still work"],
    );
    let set = run_command(&home, &set, PASSWORD);
    assert_eq!((&set["email"], &set["passwordSet"]), (&json!(EMAIL), &json!(true)));
}

#[actix_web::test]
async fn failed_text_that_is_retried_is_shown_as_such() {
    let (home, site) = (Home::new().await, Site::start().await);
    create_account(&home);
    let running = Program::start(&home, "data").await;
    let file = home.path("saves.jsonl");
    let url = site.page("/busy", [Reply::Status(503)]);
    std::fs::write(&file, json!({ "url": url }).to_string()).unwrap();

    let imported = running.command_output(&home, &["import", file.to_str().unwrap()], "");

    assert_succeeds(&imported, &["created 1"]);
    let import = eventually("the first attempt fails", async || {
        let listed = running.run_command(&home, &["imports", "list"])["imports"][0].clone();
        (listed["texts"]["failed"] == 1).then_some(listed)
    })
    .await;
    let shown = running.command_output(&home, &["imports", "show", import["importId"].as_str().unwrap()], "");
    assert_succeeds(&shown, &["texts: 0 waiting, 0 ready, 1 failed (1 is tried again)"]);
    running.terminate().await;
}

#[actix_web::test]
async fn import_output_names_file_texts_rows_and_faults() {
    let home = Home::new().await;
    create_account(&home);
    let running = Program::start(&home, "data").await;
    let file = home.path("saves.jsonl");
    let lines = [
        json!({ "url": "https://c.example/1", "title": "Herons", "text": "A heron stands." }),
        json!({ "url": "https://c.example/2", "titel": "Bitterns", "text": "A bittern booms." }),
        json!({ "url": "ftp://me:canary@c.example/3" }),
    ];
    std::fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let faults = ["line 2: unknown field `titel`", "line 3: not an http(s) address: `ftp://c.example/3`"];

    let dry_run = running.command_output(&home, &["import", "--dry-run", file.to_str().unwrap()], "");
    let taken = running.command_output(&home, &["import", file.to_str().unwrap()], "");

    assert_succeeds(&dry_run, &["would create 1, update 0, skip 2"]);
    assert_succeeds(
        &taken,
        &["created 1, updated 0, skipped 2", "The server is now fetching and indexing the new items"],
    );
    for fault in faults {
        assert_succeeds(&dry_run, &[fault]);
        assert_succeeds(&taken, &[fault]);
    }
    eventually("the text is ready", async || {
        let listed = running.run_command(&home, &["imports", "list"])["imports"].clone();
        (listed[0]["texts"] == json!({ "processing": 0, "ready": 1, "failed": 0 })).then_some(())
    })
    .await;
    let listed = running.run_command(&home, &["imports", "list"])["imports"].clone();
    let id = |n: usize| listed[n]["importId"].as_str().unwrap();
    assert_eq!([&listed[0]["fileName"], &listed[1]["fileName"]], ["saves.jsonl"; 2]);
    let shown = running.command_output(&home, &["imports", "show", id(0)], "");
    assert_succeeds(&shown, &["of saves.jsonl: done, 3 rows", "texts: 0 waiting, 1 ready, 0 failed"]);
    assert_succeeds(
        &running.command_output(&home, &["imports", "list"], ""),
        &["saves.jsonl", "WAITING", "READY"],
    );
    for import in [id(0), id(1)] {
        let rows = running.run_command(&home, &["imports", "rows", import])["rows"].clone();
        let names: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["name"].clone()).collect();
        assert_eq!(names, ["Herons", "https://c.example/2", "ftp://c.example/3"], "{rows}");
        assert_succeeds(
            &running.command_output(&home, &["imports", "rows", import], ""),
            &["TITLE OR URL", "Herons", "https://c.example/2"],
        );
    }
    running.terminate().await;
}

#[actix_web::test]
async fn file_of_unknown_format_is_refused_with_the_formats() {
    let home = Home::new().await;
    create_account(&home);
    let running = Program::start(&home, "data").await;

    let output = running.command_output(&home, &["import", "-"], "%PDF-1.7 words");

    assert_fails(&output, &["failed after 0 rows", "not recognised", "--format (carrel, jsonl, netscape,"]);
    running.terminate().await;
}

#[actix_web::test]
async fn connected_app_is_listed_and_disconnected() {
    let home = Home::new().await;
    create_account(&home);
    let running = Program::start_with_base_url(&home, "data", BASE_URL).await;
    let browser = running.anonymous().sign_in(EMAIL, PASSWORD).await;
    let assistant = OAuthClient::new(running.anonymous()).await;
    let tokens = assistant.connect(&browser, "read:library").await;
    assert_eq!(assistant.call_status(&tokens.access).await, 200);

    let apps = run_command(&home, &["app", "list"], "")["apps"].clone();
    let id = apps[0]["id"].as_str().unwrap();
    assert_eq!((&apps[0]["clientName"], apps.as_array().unwrap().len()), (&json!("Heron"), 1));
    assert_succeeds(&command_output(&home, &["app", "disconnect", id], "", &[]), &["disconnected the app"]);

    eventually("the token is refused", async || {
        (assistant.call_status(&tokens.access).await == 401).then_some(())
    })
    .await;
    assert_eq!(run_command(&home, &["app", "list"], "")["apps"], json!([]));
    assert_fails(
        &command_output(&home, &["app", "disconnect", id], "", &[]),
        &["no connected app", "carrel app list"],
    );
    running.terminate().await;
}

#[actix_web::test]
async fn projects_are_created_listed_and_archived() {
    let home = Home::new().await;
    create_account(&home);
    let create = ["project", "create", "--name", "A book", "--instructions", "Be brief."];

    let created = run_command(&home, &create, "")["project"].clone();
    let id = created["id"].as_str().unwrap();
    assert_eq!((&created["name"], &created["status"]), (&json!("A book"), &json!("active")));
    assert_fails(&command_output(&home, &["project", "create", "--name", ""], "", &[]), &["name"]);
    assert_succeeds(
        &command_output(&home, &["project", "archive", id], "", &[]),
        &["archived the project `A book`"],
    );

    let listed = |status: &str| {
        let listed = run_command(&home, &["project", "list", "--status", status], "");
        listed["projects"].as_array().unwrap().len()
    };
    assert_eq!((listed("active"), listed("archived")), (0, 1));
    assert_succeeds(&command_output(&home, &["project", "list"], "", &[]), &["A book", "archived"]);
    let unknown_id = ["project", "archive", "018f4d5e-0000-7000-8000-000000000000"];
    assert_fails(&command_output(&home, &unknown_id, "", &[]), &["no project", "carrel project list"]);
}

#[actix_web::test]
async fn archived_project_is_activated_by_a_command() {
    let home = Home::new().await;
    create_account(&home);
    let created = run_command(&home, &["project", "create", "--name", "A book"], "");
    let id = created["project"]["id"].as_str().unwrap();
    run_command(&home, &["project", "archive", id], "");

    let activated = command_output(&home, &["project", "activate", id], "", &[]);
    let again = run_command(&home, &["project", "activate", id], "");

    assert_succeeds(&activated, &["activated the project `A book`"]);
    assert_eq!(again["project"]["status"], "active");
    let unknown_id = ["project", "activate", "018f4d5e-0000-7000-8000-000000000000"];
    assert_fails(&command_output(&home, &unknown_id, "", &[]), &["no project", "carrel project list"]);
}

#[actix_web::test]
async fn completions_need_no_database() {
    let home = Home::new().await;

    for (shell, word) in [("bash", "complete"), ("zsh", "#compdef carrel"), ("fish", "complete -c carrel")] {
        assert_succeeds(&command_output(&home, &["completions", shell], "", &[]), &[word, "disconnect"]);
    }
    assert!(!home.path("data").exists());
}

/// The check of the report with this name.
fn check(report: &Value, name: &str) -> Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {report}")).clone()
}

#[actix_web::test]
async fn doctor_checks_jobs_feeds_disk_and_base_url() {
    let (home, site) = (Home::new().await, Site::start().await);
    let (id, secret) = create_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    let before = running.run_command(&home, &["doctor"]);
    for name in ["jobs", "feeds", "disk space", "base_url"] {
        assert_eq!(check(&before, name)["state"], "ok", "{name}: {before}");
    }

    save_missing_page(&key, &site).await;
    let feed = site.page("/feed", [Reply::Status(404)]);
    let list = format!("<opml><body><outline xmlUrl=\"{feed}\"/></body></opml>");
    key.post("/rest/v1/feeds/opml", json!({ "opml": list })).await.data(202);
    let report = eventually("the feed fails", async || {
        let report = running.run_command(&home, &["doctor"]);
        (check(&report, "feeds")["state"] == "warning").then_some(report)
    })
    .await;

    let jobs = check(&report, "jobs");
    assert_eq!(jobs["state"], "warning");
    assert!(jobs["found"].as_str().unwrap().contains("fetching a page 1"), "{jobs}");
    let feeds = check(&report, "feeds");
    assert!(feeds["found"].as_str().unwrap().contains("/feed (1 times in a row: "), "{feeds}");
    running.terminate().await;
}

#[actix_web::test]
async fn secret_in_a_database_parameter_is_never_printed() {
    let home = Home::new().await;

    for (url, expected) in [
        ("postgres://u@127.0.0.1:1/n?sslpassword=canary", "without the unknown parameter sslpassword"),
        ("postgres://u@127.0.0.1:1/n?sslmode=canary", "whose parameter sslmode is one of disable"),
        ("sqlite:/tmp/x.db?mode=canary", "whose parameter mode is one of ro"),
    ] {
        for command in ["serve", "doctor"] {
            let output = command_output(&home, &[command], "", &[("DATABASE__URL", url)]);

            assert_eq!(output.code, Some(1), "{output:?}");
            let printed = format!("{}{}", output.stdout, output.stderr);
            assert!(printed.contains("setting database.url") && printed.contains(expected), "{printed}");
            assert!(!printed.contains("canary"), "{printed}");
        }
    }
}

#[actix_web::test]
async fn doctor_reports_what_stops_the_start() {
    let home = Home::new().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    let faults: [(&str, &[(&str, &str)]); 6] = [
        (
            "mail.url has another value of the parameter tls",
            &[("MAIL__URL", "smtp://127.0.0.1:25?tls=canary")],
        ),
        (
            "files.secret_key or AWS_SECRET_ACCESS_KEY is set, but neither files.access_key nor AWS_ACCESS_KEY_ID",
            &[
                ("FILES__URL", "s3://bucket"),
                ("FILES__ENDPOINT", "http://127.0.0.1:1"),
                ("FILES__SECRET_KEY", "canary"),
            ],
        ),
        (
            "expected an address and port other than server.listen",
            &[("SERVER__LISTEN", "127.0.0.1:1"), ("SERVER__METRICS_LISTEN", "127.0.0.1:1")],
        ),
        ("could not listen on server.metrics_listen = ", &[("SERVER__METRICS_LISTEN", &taken)]),
        ("could not listen on server.listen = 192.0.2.7:8080: ", &[("SERVER__LISTEN", "192.0.2.7:8080")]),
        ("could not use the folder data_dir = /proc/carrel: ", &[("DATA_DIR", "/proc/carrel")]),
    ];

    for (finding, settings) in faults {
        for command in ["serve", "doctor"] {
            let output = command_output(&home, &[command], "", settings);

            assert_eq!(output.code, Some(1), "{output:?}");
            let printed = format!("{}{}", output.stdout, output.stderr);
            assert!(printed.contains(finding), "{finding}: {printed}");
            assert!(!printed.contains("canary"), "{printed}");
        }
    }
}

#[actix_web::test]
async fn doctor_tells_another_server_from_its_own() {
    let home = Home::new().await;
    create_account(&home);
    let running = Program::start(&home, "data").await;
    let listen = running.address();
    let doctor = |settings: &[(&str, &str)]| -> Value {
        let output = command_output(&home, &["doctor", "--json"], "", settings);
        serde_json::from_str(&output.stdout).unwrap()
    };

    let own = doctor(&[("SERVER__LISTEN", listen)]);
    let empty = home.path("other");
    let other = doctor(&[("SERVER__LISTEN", listen), ("DATA_DIR", empty.to_str().unwrap()), OWN_DATABASE]);

    assert_eq!(check(&own, "server")["state"], "ok", "{own}");
    let server = check(&other, "server");
    assert_eq!(server["state"], "wrong", "{other}");
    assert!(server["found"].as_str().unwrap().contains("another server answers on"), "{server}");
    assert!(!check(&other, "index")["found"].as_str().unwrap().contains("running server"), "{other}");
    running.terminate().await;
}

/// Returns the check `files` of the doctor with these settings.
async fn files_check(home: &Arc<Home>, settings: &[(&str, &str)]) -> Value {
    let home = home.clone();
    let settings: Vec<(String, String)> =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    // The thread of the test serves the bucket, so the command must not block it.
    let run = move || {
        let settings: Vec<(&str, &str)> =
            settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        command_output(&home, &["doctor", "--json"], "", &settings)
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    check(&serde_json::from_str(&output.stdout).unwrap(), "files")
}

#[actix_web::test]
async fn doctor_checks_the_file_store() {
    let (home, bucket) = (Arc::new(Home::new().await), S3Bucket::start().await);
    let with = |setting: (&'static str, &'static str)| [&bucket.settings()[..], &[setting]].concat();

    let folder = files_check(&home, &[]).await;
    let reached = files_check(&home, &bucket.settings()).await;
    let wrong_key = files_check(&home, &with(("FILES__SECRET_KEY", "canary"))).await;
    let dead = files_check(&home, &with(("FILES__ENDPOINT", "http://127.0.0.1:1"))).await;

    assert_eq!([&folder["state"], &reached["state"]], ["ok", "ok"], "{folder} {reached}");
    for (check, words) in [(&wrong_key, "refuses the access key"), (&dead, "could not be reached: ")] {
        assert_eq!(check["state"], "wrong", "{check}");
        let found = check["found"].as_str().unwrap();
        assert!(found.starts_with("s3://shelf/library (setting files.url): "), "{found}");
        assert!(found.contains(words) && !found.contains("canary"), "{found}");
    }
    assert!(bucket.paths().is_empty());
}

#[actix_web::test]
async fn data_folder_may_be_relative_and_contain_a_space() {
    let home = Home::new().await;

    let migrated = command_output(&home, &["migrate"], "", &[OWN_DATABASE, ("DATA_DIR", "my data")]);

    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    assert!(home.path("my data").join("carrel.db").is_file());
}

#[actix_web::test]
async fn failed_job_is_listed_and_retried() {
    let (home, site) = (Home::new().await, Site::start().await);
    let (id, secret) = create_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    assert_succeeds(&running.command_output(&home, &["jobs", "list"], ""), &["no job has failed"]);

    let page = save_missing_page(&key, &site).await;
    let jobs = running.run_command(&home, &["jobs", "list", "--user", EMAIL])["jobs"].clone();
    let (job, kind, subject) = (jobs[0]["id"].as_str().unwrap(), &jobs[0]["kind"], &jobs[0]["subject"]);
    assert_eq!((kind, subject), (&json!("fetch_page"), &page["documentId"]), "{jobs}");
    assert_succeeds(
        &running.command_output(&home, &["jobs", "list"], ""),
        &[job, EMAIL, "fetching a page", "404"],
    );

    assert_succeeds(
        &running.command_output(&home, &["jobs", "retry", job], ""),
        &["enqueued 1 job", "The server runs them"],
    );
    eventually("the page is fetched again", async || (site.request_count("/gone") == 2).then_some(())).await;
    running.terminate().await;
}

#[actix_web::test]
async fn refused_retry_does_not_stop_the_others() {
    let (home, site) = (Home::new().await, Site::start().await);
    let (id, secret) = create_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    save_missing_page(&key, &site).await;
    let jobs = running.run_command(&home, &["jobs", "list"])["jobs"].clone();
    let (job, unknown) = (jobs[0]["id"].as_str().unwrap(), "018f4d5e-0000-7000-8000-000000000000");

    let retried = running.command_output(&home, &["jobs", "retry", unknown, job, "--json"], "");

    assert_eq!(retried.code, Some(1), "{retried:?}");
    let report: Value = serde_json::from_str(&retried.stdout).unwrap();
    let message = "no failed job has this id; `carrel jobs list` shows the failed jobs";
    let refused = json!([{ "id": unknown, "code": "NOT_FOUND", "message": message }]);
    assert_eq!(report, json!({ "retried": [job], "refused": refused, "serverRunning": true }));
    eventually("the page is fetched again", async || (site.request_count("/gone") == 2).then_some(())).await;
    let refused = running.command_output(&home, &["jobs", "retry", unknown], "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert_eq!(refused.stdout, format!("job {unknown} is not retried: {message}\n"));
    running.terminate().await;
}

#[actix_web::test]
async fn failed_job_of_deleted_bookmark_is_not_listed() {
    let (home, site) = (Home::new().await, Site::start().await);
    let (id, secret) = create_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    let page = save_missing_page(&key, &site).await;
    let jobs = running.run_command(&home, &["jobs", "list"])["jobs"].clone();
    let job = jobs[0]["id"].as_str().unwrap();

    key.delete(&format!("/rest/v1/bookmarks/{}", page["bookmarkId"].as_str().unwrap())).await.data(200);

    assert_succeeds(&running.command_output(&home, &["jobs", "list"], ""), &["no job has failed"]);
    assert_eq!(check(&running.run_command(&home, &["doctor"]), "jobs")["state"], "ok");
    let retried = running.command_output(&home, &["jobs", "retry", job], "");
    assert_eq!(retried.code, Some(1), "{retried:?}");
    assert!(retried.stdout.contains("no failed job has this id"), "{retried:?}");
    running.terminate().await;
}

#[actix_web::test]
async fn log_names_the_service_and_failed_jobs() {
    let (home, site) = (Home::new().await, Site::start().await);
    let (id, secret) = create_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);

    let page = save_missing_page(&key, &site).await;

    let find = async |words: &str| {
        eventually(words, async || running.log().lines().find(|line| line.contains(words)).map(str::to_owned))
            .await
    };
    let ready = find(": ready ").await;
    let url = format!("url={}", running.anonymous().base_url());
    for part in [env!("CARGO_PKG_VERSION"), home.path("data").to_str().unwrap(), &url] {
        assert!(ready.contains(part), "{part}: {ready}");
    }
    let failed = find("an attempt of a job failed").await;
    let document = format!("document.id={}", page["documentId"].as_str().unwrap());
    for part in ["job.kind=fetch_page", &document, "outcome=given_up"] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
    running.terminate().await;
}
