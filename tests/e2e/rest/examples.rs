//! The examples of /docs, run as a reader runs them: in a shell, after the commands of the page have set its variables.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use values::plan::Plan;

use crate::ingest::uploads;
use crate::support::{Client, Key, Reply, Server, Site, eventually};

/// The operations after which the bookmark of the other examples may be gone, in the order in which they run after all others.
const LAST_OPERATIONS: [&str; 3] = ["refetchBookmark", "deleteBookmark", "restoreBookmark"];

/// The page, which is HTML.
struct DocsPage(String);

impl DocsPage {
    /// The text of the code block with this id.
    fn code(&self, id: &str) -> String {
        let block = self.0.split_once(&format!("<div class=\"code\" id=\"{id}\">"));
        let (_, block) = block.unwrap_or_else(|| panic!("the page has no code {id}"));
        let (_, code) = block.split_once("<code>").unwrap();
        let (code, _) = code.split_once("</code>").unwrap();
        // The ampersand last: it begins the other references.
        let references = [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")];
        references
            .into_iter()
            .fold(code.to_owned(), |text, (reference, character)| text.replace(reference, character))
    }

    /// The names of the variables, in the order of the page.
    fn variables(&self) -> Vec<&str> {
        let blocks = self.0.split("<div class=\"code\" id=\"set-").skip(1);
        blocks.map(|block| block.split('"').next().unwrap()).collect()
    }
}

/// A shell with the functions and the variables of the page.
struct ExampleShell {
    folder: PathBuf,
    functions: String,
    variables: BTreeMap<String, String>,
}

impl ExampleShell {
    /// Creates a shell that stores the configuration of curl in this folder.
    fn new(folder: &Path, functions: String) -> Self {
        // The commands run as the page shows them, so the status is requested here.
        let settings = "write-out = \"\\n%{http_code}\"\nnoproxy = \"*\"\nsilent\nshow-error\n";
        std::fs::write(folder.join(".curlrc"), settings).unwrap();
        Self { folder: folder.to_owned(), functions, variables: BTreeMap::new() }
    }

    async fn run(&self, script: &str) -> Output {
        let mut shell = Command::new("sh");
        // With -u a variable that is not set is an error.
        shell.args(["-u", "-c", script]).envs(&self.variables).env("CURL_HOME", &self.folder);
        shell.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap()
    }

    /// Runs a command and returns the HTTP status that it printed last; or its output if it failed.
    async fn status_of(&self, command: &str) -> Result<String, String> {
        let output = self.run(command).await;
        let text = String::from_utf8(output.stdout).unwrap();
        match text.rsplit_once('\n') {
            Some((_, status)) if output.status.success() => Ok(status.to_owned()),
            Some(_) | None => Err(format!("{text}\n{}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Runs the command of a variable until it has set it, because a bookmark is processed before its text can be highlighted.
    async fn set(&mut self, name: &str, command: &str) {
        let script = format!("{}\n{command}\nprintf '\\n%s' \"${name}\"", self.functions);
        let value = eventually(&format!("the command sets {name}: {command}"), async || {
            let printed = String::from_utf8(self.run(&script).await.stdout).unwrap();
            let (_, value) = printed.rsplit_once('\n')?;
            (!value.is_empty()).then(|| value.to_owned())
        })
        .await;
        self.variables.insert(name.to_owned(), value);
    }
}

/// An operation of the description.
struct DescribedOperation<'a> {
    id: &'a str,
    method: &'a str,
    path: &'a str,
    /// The statuses of its success responses.
    statuses: Vec<&'a str>,
}

/// The operations in the order in which their examples succeed: objects are deleted after all other requests, and a collection after
/// its bookmark was taken out of it.
fn operations(document: &Value) -> Vec<DescribedOperation<'_>> {
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, described) in methods.as_object().unwrap() {
            let statuses = described["responses"].as_object().unwrap().keys().map(String::as_str);
            all.push(DescribedOperation {
                id: described["operationId"].as_str().unwrap(),
                method: method.as_str(),
                path: path.as_str(),
                statuses: statuses.filter(|status| status.starts_with('2')).collect(),
            });
        }
    }
    all.sort_by_key(|operation| {
        let last = LAST_OPERATIONS.iter().position(|id| *id == operation.id);
        (last, operation.method == "delete", Reverse(operation.path.len()))
    });
    all
}

/// Creates what the commands of the page do not: a project, a recording, and the feed of a podcast. Returns the URL of the feed.
async fn seed_library(key: &Key, session: &Client, site: &Site) -> String {
    session.post("/app/api/projects", json!({ "name": "Ants" })).await.data(201);
    uploads::upload(key, "audio/mpeg", b"test").await;
    let sound = site.page("/ants.mp3", [Reply::Status(404)]);
    let rss = format!(
        "<rss version=\"2.0\"><channel><title>Ants</title><item><title>A talk</title><guid>1</guid>\
         <description>Of ants.</description><enclosure url=\"{sound}\" type=\"audio/mpeg\"/></item>\
         </channel></rss>"
    );
    let headers = vec![("content-type", "application/rss+xml".to_owned())];
    site.page("/feed.xml", [Reply::Plain { status: 200, headers, body: rss }])
}

#[actix_web::test]
async fn example_of_each_operation_succeeds_as_the_page_shows_it() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let feed_url = seed_library(&key, &session, &site).await;
    let page = DocsPage(server.anonymous().get("/docs").await.text);
    let document = server.anonymous().get("/openapi.json").await.body;
    let mut shell = ExampleShell::new(server.home().folder(), page.code("functions"));
    // The two values that the page leaves to the reader.
    let secret = key.header("authorization").trim_start_matches("Bearer ").to_owned();
    shell.variables.extend([("CARREL_KEY".to_owned(), secret), ("FEED_URL".to_owned(), feed_url)]);
    for name in page.variables() {
        if !shell.variables.contains_key(name) {
            shell.set(name, &page.code(&format!("set-{name}"))).await;
        }
    }
    key.wait_for(&json!({ "bookmarkId": shell.variables["BOOKMARK_ID"] }), "ready").await;

    let mut failed = Vec::new();
    for operation in operations(&document) {
        let command = page.code(&format!("example-{}", operation.id));
        if command.contains("$TAG") {
            // Another example renames or deletes the tag.
            shell.set("TAG", &page.code("set-TAG")).await;
        }
        match shell.status_of(&command).await {
            Ok(status) if operation.statuses.contains(&status.as_str()) => {}
            outcome => failed.push(format!("{}: {outcome:?} of\n{command}", operation.id)),
        }
    }

    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[actix_web::test]
async fn command_that_does_not_run_has_no_status() {
    let folder = TempDir::new().unwrap();
    let shell = ExampleShell::new(folder.path(), String::new());

    for command in ["curl \"$BOOKMARK_ID\"", "curl 'http://127.0.0.1", "no-such-command\n", "curl -d '{}'"] {
        assert!(shell.status_of(command).await.is_err(), "{command}");
    }
}
