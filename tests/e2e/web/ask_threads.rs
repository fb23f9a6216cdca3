//! Questions that the web app keeps: their answers, follow-ups, scopes and limits.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::rest::projects::create_project;
use crate::support::{ChatEndpoint, ChatReply, Client, Key, Server, User, eventually};

const SENTENCE: &str = "The quagga of Artis died on the twelfth of August 1883.";
const QUESTION: &str = "When did the quagga of Artis die?";
const CORRECT_ANSWER: ChatReply = ChatReply::Text("\"The quagga of Artis died\" [1].", 600);

struct QuaggaReader {
    key: Key,
    session: Client,
    saved: Value,
}

/// Creates a user with a bookmark about the quagga, which is indexed.
async fn create_reader(user: &User<'_>) -> QuaggaReader {
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let text =
        format!("Artis had many animals.\n\n{SENTENCE} It was the last of its kind.\n\nTea was served.");
    let saved = key.save_text("https://example.org/quagga", &text).await;
    let saved = key.wait_for(&saved, "ready").await;
    eventually("the page is found", async || (!key.search("quagga").await.is_empty()).then_some(())).await;
    QuaggaReader { key, session, saved }
}

impl QuaggaReader {
    async fn start(&self, question: &str, scope: &str) -> Value {
        let body = json!({ "question": question, "scope": scope });
        self.session.post("/app/api/threads", body).await.data(202)["thread"].clone()
    }

    async fn show(&self, thread: &Value) -> Value {
        self.session.get(&path(thread)).await.data(200)["thread"].clone()
    }

    /// Waits until the last question of a thread is answered or has failed, and returns it.
    async fn last_question(&self, thread: &Value) -> Value {
        eventually("the last question has ended", async || {
            let shown = self.show(thread).await;
            let last = shown["questions"].as_array().unwrap().last().unwrap().clone();
            (last["state"] != "waiting").then_some(last)
        })
        .await
    }

    async fn answers(&self) -> i64 {
        let usage = self.session.get("/app/api/library/usage").await;
        usage.data(200)["answers"]["thisMonth"].as_i64().unwrap()
    }
}

fn id<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap()
}

fn path(thread: &Value) -> String {
    format!("/app/api/threads/{}", id(thread, "threadId"))
}

fn question_path(thread: &Value, question: &Value) -> String {
    format!("{}/questions/{}", path(thread), id(question, "questionId"))
}

#[actix_web::test]
async fn question_is_answered_in_the_background_and_counts() {
    let server = Server::start().await;
    let reader = create_reader(&server.user(Plan::Pro).await).await;

    let thread = reader.start(QUESTION, "all").await;
    assert_eq!((&thread["title"], &thread["scope"]["kind"]), (&QUESTION.into(), &"all".into()));
    let question = reader.last_question(&thread).await;

    let answer = &question["answer"];
    assert_eq!((&question["state"], &answer["outcome"]), (&"answered".into(), &"answered".into()));
    assert_eq!(answer["answer"], format!("“{SENTENCE}” [1]"));
    let citation = &answer["citations"][0];
    assert_eq!((&citation["verified"], &citation["source"]), (&true.into(), &"current".into()));
    assert_eq!((&citation["position"]["paragraph"], &citation["quote"]), (&2.into(), &SENTENCE.into()));
    assert_eq!(reader.answers().await, 1);
    let activity = reader.session.get("/app/api/activity").await.data(200)["activity"].to_string();
    assert!(!activity.contains("thread") && !activity.contains("quagga"), "{activity}");
}

#[actix_web::test]
async fn quote_is_shown_with_the_text_around_it() {
    let server = Server::start().await;
    let reader = create_reader(&server.user(Plan::Pro).await).await;
    let session = &reader.session;
    let project = create_project(session, "Animals").await;
    let body = format!("Artis had many animals.\n\n{SENTENCE} It was the last of its kind.");
    let written = json!({ "title": "The quagga", "bodyMd": body });
    let written =
        session.post(&format!("/app/api/projects/{project}/notes"), written).await.data(201).clone();
    let note = format!("/app/api/notes/{}", id(&written["note"], "noteId"));
    eventually("the note is found", async || (reader.key.search("quagga").await.len() == 2).then_some(()))
        .await;
    let thread = reader.start(QUESTION, &format!("project:{project}")).await;
    let question = reader.last_question(&thread).await;
    let citation = format!("{}/citations/1", question_path(&thread, &question));

    let shown = session.get(&citation).await.data(200).clone();
    assert_eq!(shown["excerpt"]["quote"], SENTENCE);
    assert!(shown["excerpt"]["before"].as_str().unwrap().ends_with("animals.\n\n"));
    assert!(shown["excerpt"]["after"].as_str().unwrap().starts_with(" It was the last"));

    let changed = json!({ "bodyMd": format!("A new start.\n\nTea.\n\n{SENTENCE}") });
    session.patch(&note, changed).await.data(200);
    let moved = session.get(&citation).await.data(200).clone();
    assert_eq!(moved["citation"]["source"], "changed");
    assert_eq!(
        (&moved["excerpt"]["quote"], &moved["citation"]["position"]["start"]),
        (&SENTENCE.into(), &20.into())
    );

    session.delete(&note).await.data(200);
    let gone = session.get(&citation).await.data(200).clone();
    assert_eq!((&gone["citation"]["source"], &gone["excerpt"]), (&"gone".into(), &Value::Null));
    let missing = format!("{}/citations/2", question_path(&thread, &question));
    assert_eq!(session.get(&missing).await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn follow_up_sends_the_last_question_and_keeps_the_scope() {
    let model = ChatEndpoint::start([CORRECT_ANSWER]).await;
    let server = Server::start_with(&model.settings()).await;
    let reader = create_reader(&server.user(Plan::Pro).await).await;
    let scope = format!("picked:{}", id(&reader.saved, "documentId"));
    let thread = reader.start(QUESTION, &scope).await;
    reader.last_question(&thread).await;

    let asked = json!({ "question": "And of what?" });
    let followed =
        reader.session.post(&format!("{}/questions", path(&thread)), asked).await.data(202).clone();
    let question = reader.last_question(&thread).await;

    assert_eq!((&question["number"], &question["state"]), (&2.into(), &"answered".into()));
    assert_eq!(followed["thread"]["scope"]["scope"], scope);
    let prompt = model.prompts()[1].to_string();
    assert!(prompt.contains(QUESTION) && prompt.contains("And of what?"), "{prompt}");
    assert_eq!(reader.answers().await, 2);
}

#[actix_web::test]
async fn scope_limits_what_is_asked() {
    let server = Server::start().await;
    let reader = create_reader(&server.user(Plan::Pro).await).await;
    let (session, key) = (&reader.session, &reader.key);
    let (with, without) = (create_project(session, "With").await, create_project(session, "Without").await);
    let items = json!({ "items": [{ "bookmarkId": reader.saved["bookmarkId"] }] });
    key.post(&format!("/rest/v2/projects/{with}/items"), items).await.data(201);
    let collection = key.post("/rest/v1/collections", json!({ "name": "Animals" })).await.data(201).clone();
    let collection = collection["collection"]["collectionId"].as_str().unwrap().to_owned();

    for (scope, outcome) in [
        (format!("project:{with}"), "answered"),
        (format!("project:{without}"), "nothing_found"),
        (format!("collection:{collection}"), "nothing_found"),
        (format!("picked:{}", id(&reader.saved, "bookmarkId")), "answered"),
    ] {
        let thread = reader.start(QUESTION, &scope).await;
        let question = reader.last_question(&thread).await;
        assert_eq!(question["answer"]["outcome"], outcome, "{scope}: {question}");
    }
    let other = server.user(Plan::Pro).await.sign_in().await;
    let foreign = json!({ "question": QUESTION, "scope": format!("project:{with}") });
    assert_eq!(other.post("/app/api/threads", foreign).await.error_code(404), "NOT_FOUND");
    let unknown = session.post("/app/api/threads", json!({ "question": QUESTION, "scope": "feed:7" })).await;
    assert_eq!(unknown.error_code(400), "VALIDATION_FAILED");
}

#[actix_web::test]
async fn failed_question_says_why_and_can_be_asked_again() {
    let model = ChatEndpoint::start([ChatReply::Status(401, "0"), CORRECT_ANSWER]).await;
    let server = Server::start_with(&model.settings()).await;
    let reader = create_reader(&server.user(Plan::Pro).await).await;
    let thread = reader.start(QUESTION, "all").await;
    let failed = reader.last_question(&thread).await;
    assert_eq!((&failed["state"], &failed["error"]), (&"failed".into(), &"AI_UNAVAILABLE".into()));
    assert_eq!(reader.answers().await, 0);

    let retry = format!("{}/retry", question_path(&thread, &failed));
    reader.session.post(&retry, json!({})).await.data(202);

    assert_eq!(reader.last_question(&thread).await["state"], "answered");
    reader.session.post(&retry, json!({})).await.data(202);
    assert_eq!(reader.last_question(&thread).await["state"], "answered");
    assert_eq!(reader.answers().await, 1);
}

#[actix_web::test]
async fn question_without_an_answer_left_is_not_kept() {
    let server = Server::start_with(&[("PLANS__PRO__ANSWERS_PER_MONTH", "1")]).await;
    let reader = create_reader(&server.user(Plan::Pro).await).await;
    let thread = reader.start(QUESTION, "all").await;
    reader.last_question(&thread).await;

    let body = json!({ "question": QUESTION });
    let refused = reader.session.post("/app/api/threads", body.clone()).await;
    assert_eq!(refused.error_code(402), "PLAN_LIMIT_REACHED");
    let refused = reader.session.post(&format!("{}/questions", path(&thread)), body).await;
    assert_eq!(refused.error_code(402), "PLAN_LIMIT_REACHED");

    let listed = reader.session.get("/app/api/threads").await.data(200)["threads"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!((&listed[0]["questionCount"], &listed[0]["state"]), (&1.into(), &"answered".into()));
}

#[actix_web::test]
async fn answer_is_saved_as_a_note_with_links() {
    let server = Server::start().await;
    let reader = create_reader(&server.user(Plan::Pro).await).await;
    let project = create_project(&reader.session, "Animals").await;
    let thread = reader.start(QUESTION, "all").await;
    let question = reader.last_question(&thread).await;

    let save = format!("{}/note", question_path(&thread, &question));
    let saved = reader.session.post(&save, json!({ "projectId": project })).await.data(201)["note"].clone();

    assert_eq!((&saved["title"], &saved["pinned"]), (&QUESTION.into(), &false.into()));
    let body = saved["bodyMd"].as_str().unwrap();
    let document = id(&reader.saved, "documentId");
    assert!(body.contains(&format!("/read/{document}?at=25-80#at")), "{body}");
    assert!(body.starts_with(&format!("“{SENTENCE}” [1]")) && body.contains("¶ 2"), "{body}");
    let other = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(other.post(&save, json!({ "projectId": project })).await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn threads_belong_to_their_user_and_are_deleted() {
    let server = Server::start().await;
    let reader = create_reader(&server.user(Plan::Pro).await).await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    let thread = reader.start(QUESTION, "all").await;
    let question = reader.last_question(&thread).await;

    assert_eq!(other.get(&path(&thread)).await.error_code(404), "NOT_FOUND");
    assert_eq!(other.delete(&path(&thread)).await.error_code(404), "NOT_FOUND");
    let citation = format!("{}/citations/1", question_path(&thread, &question));
    assert_eq!(other.get(&citation).await.error_code(404), "NOT_FOUND");
    assert_eq!(other.get("/app/api/threads").await.data(200)["threads"], json!([]));

    reader.session.delete(&path(&thread)).await.data(200);
    assert_eq!(reader.session.get(&path(&thread)).await.error_code(404), "NOT_FOUND");
    assert_eq!(reader.session.delete(&path(&thread)).await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn waiting_question_is_answered_after_a_restart() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let reader = create_reader(&user).await;
    server.service().worker.stop().await;
    let thread = reader.start(QUESTION, "all").await;
    assert_eq!(reader.show(&thread).await["questions"][0]["state"], "waiting");

    server.restart_worker().await;

    assert_eq!(reader.last_question(&thread).await["state"], "answered");
    assert_eq!(reader.answers().await, 1);
}

#[actix_web::test]
async fn only_the_newest_threads_are_kept() {
    let server = Server::start_with(&[("PLANS__RESEARCH__ANSWERS_PER_MONTH", "1000")]).await;
    let session = server.user(Plan::Research).await.sign_in().await;
    for n in 0..102 {
        let body = json!({ "question": format!("Question {n}?") });
        session.post("/app/api/threads", body).await.data(202);
    }

    let first = session.get("/app/api/threads?limit=100").await.data(200).clone();

    let titles: Vec<&str> =
        first["threads"].as_array().unwrap().iter().map(|thread| id(thread, "title")).collect();
    assert_eq!((titles.len(), titles[0], titles[99]), (100, "Question 101?", "Question 2?"));
    assert_eq!(first["nextCursor"], Value::Null);
    let page = session.get("/app/api/threads?limit=60").await.data(200).clone();
    let rest = session.get(&format!("/app/api/threads?limit=60&cursor={}", id(&page, "nextCursor"))).await;
    assert_eq!(rest.data(200)["threads"].as_array().unwrap().len(), 40);
}
