//! Forms that create something, sent several times at the same moment and again: each creates it once.

use futures_util::future::join_all;
use serde_json::json;
use values::plan::Plan;

use crate::rest::projects::create_project;
use crate::support::{Client, Response, Server, read_ticket};

/// A form: the page that shows it, its address, its fields, and where what it creates is listed.
type CreatingForm<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, &'a str);

async fn count(session: &Client, list: &str, pointer: &str) -> usize {
    let listed = session.get(list).await;
    listed.data(200).pointer(pointer).unwrap().as_array().unwrap().len()
}

/// Returns the page to which a form leads, without its message.
fn path_of(sent: &Response) -> &str {
    assert_eq!(sent.status, 303, "{}", sent.text);
    sent.header("location").split("done=").next().unwrap()
}

#[actix_web::test]
async fn form_that_is_sent_several_times_creates_one() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let id = create_project(&session, "P").await;
    let asked = session.post("/app/api/threads", json!({ "question": "Why?" })).await;
    let thread = asked.data(202)["thread"]["threadId"].as_str().unwrap();
    let (project, api_project) = (format!("/projects/{id}"), format!("/app/api/projects/{id}"));
    let (new_note, notes) = (format!("{project}/notes/new"), format!("{project}/notes"));
    let (new_decision, decisions) = (format!("{project}/decisions/new"), format!("{project}/decisions"));
    let (api_notes, api_decisions) = (format!("{api_project}/notes"), format!("{api_project}/decisions"));
    let (thread, api_thread) = (format!("/ask/{thread}"), format!("/app/api/threads/{thread}"));
    let new_search = "/saved-searches/new";
    let named = [("name", "A")];
    let note = [("title", "A"), ("bodyMd", "b")];
    let quick_note = [("what", "note"), ("note", "c"), ("project", id.as_str())];
    let decision = [("title", "A"), ("status", "decided")];
    let search = [("name", "A"), ("query", "is:unread")];
    let question = [("question", "And then?")];
    let forms: [CreatingForm; 8] = [
        ("/projects/new", "/projects", &named, "/app/api/projects", "/projects"),
        ("/collections", "/collections", &named, "/app/api/collection-tree", "/collections"),
        (&new_note, &notes, &note, &api_notes, "/notes"),
        ("/add?what=note", "/add", &quick_note, &api_notes, "/notes"),
        (&new_decision, &decisions, &decision, &api_decisions, "/decisions"),
        (new_search, new_search, &search, "/app/api/saved-searches", "/savedSearches"),
        ("/ask", "/ask", &question, "/app/api/threads", "/threads"),
        (&thread, &thread, &question, &api_thread, "/thread/questions"),
    ];

    for (page, action, fields, list, pointer) in forms {
        let before = count(&session, list, pointer).await;
        // A form that is opened again creates another one, of the same texts.
        for created in 1..=2 {
            let ticket = read_ticket(&session.get(page).await);
            let mut form = fields.to_vec();
            form.push(("ticket", &ticket));

            let sent = join_all((0..6).map(|_| session.post_form(action, &form))).await;
            let again = session.post_form(action, &form).await;

            assert!(sent.iter().all(|sent| path_of(sent) == path_of(&again)), "{action}");
            assert_eq!(count(&session, list, pointer).await, before + created, "{action}");
        }
    }
}
