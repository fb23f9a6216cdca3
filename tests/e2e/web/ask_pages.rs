//! The pages of questions, over HTTP.

use serde_json::json;
use values::plan::Plan;

use crate::rest::projects::create_project;
use crate::support::{ChatEndpoint, ChatReply, Client, Reply, Server, Site, User, eventually};

const SENTENCE: &str = "The quagga of Artis died on the twelfth of August 1883.";
const QUESTION: &str = "When did the quagga of Artis die?";

/// Creates a user with a page about the quagga, which is indexed.
async fn create_reader(user: &User<'_>) -> Client {
    let key = user.full_key().await;
    let saved =
        key.save_text("https://example.org/quagga", &format!("Artis had animals.\n\n{SENTENCE}")).await;
    key.wait_for(&saved, "ready").await;
    eventually("the page is found", async || (!key.search("quagga").await.is_empty()).then_some(())).await;
    user.sign_in().await
}

/// Asks about the quagga, and waits for the answer. Returns the address and the page.
async fn ask(session: &Client) -> (String, String) {
    ask_question(session, QUESTION).await
}

/// Asks, follows the redirect, and waits for the answer. Returns the address and the page.
async fn ask_question(session: &Client, question: &str) -> (String, String) {
    let asked = session.post_form("/ask", &[("question", question), ("scope", "all")]).await;
    assert_eq!(asked.status, 303, "{}", asked.text);
    let path = asked.header("location").to_owned();
    let page = eventually("the answer is on the page", async || {
        let page = session.get(&path).await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.text.contains("class=\"answer prose\"").then_some(page.text)
    })
    .await;
    (path, page)
}

#[actix_web::test]
async fn answer_without_a_result_is_said_once_and_in_german() {
    let server = Server::start().await;
    let session = create_reader(&server.user(Plan::Pro).await).await;
    let german = session.with("accept-language", "de");
    let question = "How do volcanoes of Iceland erupt?";

    let asked = german.post_form("/ask", &[("question", question), ("scope", "all")]).await;
    let page = eventually("the answer is on the page", async || {
        let page = german.get(asked.header("location")).await;
        page.text.contains("callout ask-care").then_some(page.text)
    })
    .await;

    assert!(page.contains("Darüber steht nichts in der Bibliothek."), "{page}");
    assert!(!page.contains("There is nothing about this"), "{page}");
}

#[actix_web::test]
async fn closest_documents_are_introduced_in_german() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let url = site.page("/gone", [Reply::Status(404)]);
    let saved = key.save(json!({ "url": url, "title": "Spoonbills of the delta", "tags": ["waders"] })).await;
    key.wait_for(&saved, "failed").await;
    let question = "Where do the spoonbills of the delta nest?";
    eventually("the link is found", async || (!key.search(question).await.is_empty()).then_some(())).await;
    let german = session.with("accept-language", "de");

    let (path, page) = ask_question(&german, question).await;

    let introduced = "Kein Satz beantwortet das direkt; am nächsten kommen: \
        “Spoonbills of the delta” (der Text konnte nicht abgerufen werden)";
    assert!(page.contains(&format!("<p>{introduced}<a")), "{page}");
    assert!(!page.contains("No sentence answers this"), "{page}");
    let markdown = german.get(&format!("{path}/answer.md?q=1")).await.text;
    assert!(markdown.contains(&format!("{introduced} [1]")), "{markdown}");
}

#[actix_web::test]
async fn question_page_shows_the_answer_with_its_source() {
    let server = Server::start().await;
    let session = create_reader(&server.user(Plan::Pro).await).await;

    let (path, page) = ask(&session).await;

    assert!(page.contains("aria-label=\"Source 1\"") && page.contains("¶ 2"), "{page}");
    assert!(!page.contains("id=\"side\" tabindex"), "{page}");
    let open = session.get(&format!("{path}?c=1")).await.text;
    assert!(open.contains(&format!("<mark class=\"cited\">{SENTENCE}</mark>")), "{open}");
    let part = session.get_part(&format!("{path}?c=1"), "side").await;
    assert!(part.text.contains("<aside") && !part.text.contains("<nav"), "{}", part.text);
    let markdown = session.get(&format!("{path}/answer.md?q=1")).await;
    assert!(markdown.header("content-type").starts_with("text/markdown"));
    assert!(markdown.text.contains("?at=") && markdown.text.contains(SENTENCE), "{}", markdown.text);
}

#[actix_web::test]
async fn invented_quote_is_marked_as_not_verified() {
    let text = "\"The quagga of Artis died\" [1], \"of the moon\" [1].";
    let model = ChatEndpoint::start([ChatReply::Text(text, 600)]).await;
    let server = Server::start_with(&model.settings()).await;
    let session = create_reader(&server.user(Plan::Pro).await).await;

    let (path, page) = ask(&session).await;

    assert!(
        page.contains("aria-label=\"Source 1\"") && page.contains("aria-label=\"Source 2, not verified\"")
    );
    assert_eq!(
        page.matches("class=\"cite is-unverified\"").count(),
        2,
        "in the text and in the list: {page}"
    );
    for shown in ["One of 2 citations could not be verified.", "The words of source 2 were not found"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let (verified, invented) =
        ("Verified: the quote appears word for word", "Not verified: the answer refers");
    for (citation, shown, other) in [(1, verified, invented), (2, invented, verified)] {
        let side = session.get_part(&format!("{path}?c={citation}"), "side").await.text;
        assert!(side.contains(shown) && !side.contains(other), "{citation}: {side}");
    }
}

#[actix_web::test]
async fn answer_page_saves_a_note_asks_on_and_deletes() {
    let server = Server::start().await;
    let session = create_reader(&server.user(Plan::Pro).await).await;
    let project = create_project(&session, "Animals").await;
    let (path, _) = ask(&session).await;
    let shown = session.get(&format!("/app/api/threads/{}", path.trim_start_matches("/ask/"))).await;
    let question = shown.data(200)["thread"]["questions"][0]["questionId"].as_str().unwrap().to_owned();

    let save = [("questionId", question.as_str()), ("projectId", project.as_str())];
    assert_eq!(session.post_form(&format!("{path}/save"), &save).await.status, 303);
    let notes = session.get(&format!("/app/api/projects/{project}/notes")).await;
    assert_eq!(notes.data(200)["notes"][0]["title"], QUESTION);
    let none = session.post_form(&format!("{path}/save"), &[("questionId", question.as_str())]).await;
    assert!(none.status == 422 && none.text.contains("Choose the project"), "{}", none.text);

    let followed = session.post_form(&path, &[("question", "And of what?")]).await;
    assert_eq!(followed.header("location"), format!("{path}#q-2"));
    assert_eq!(session.post_form(&path, &[("question", " ")]).await.status, 422);
    let deleted = session.post_form(&format!("{path}/delete"), &[]).await;
    assert!(deleted.status == 303 && deleted.header("location").starts_with("/ask?done="));
    assert_eq!(session.get(&path).await.status, 404);
}

#[actix_web::test]
async fn question_page_says_when_no_answers_are_left() {
    let server = Server::start_with(&[("PLANS__PRO__ANSWERS_PER_MONTH", "1")]).await;
    let session = create_reader(&server.user(Plan::Pro).await).await;
    ask(&session).await;

    let page = session.get("/ask").await.text;
    assert!(page.contains("The one answer of this month is used.") && page.contains("disabled"), "{page}");
    let refused = session.post_form("/ask", &[("question", "Another one?")]).await;
    assert_eq!(refused.status, 402);
    assert!(refused.text.contains("Another one?"), "{}", refused.text);
}

#[actix_web::test]
async fn question_pages_of_others_do_not_exist() {
    let server = Server::start().await;
    let session = create_reader(&server.user(Plan::Pro).await).await;
    let (path, _) = ask(&session).await;
    let other = server.user(Plan::Pro).await.sign_in().await;

    assert_eq!(other.get(&path).await.status, 404);
    assert_eq!(other.get(&format!("{path}/answer.md?q=1")).await.status, 404);
    for action in ["", "/delete"] {
        let answer = other.post_form(&format!("{path}{action}"), &[("question", "Mine?")]).await;
        assert_eq!(answer.status, 404, "{action}");
    }
    assert!(!other.get("/ask").await.text.contains(QUESTION));
    let body = json!({ "question": QUESTION });
    let foreign =
        session.clone().with("origin", "https://elsewhere.example").post("/app/api/threads", body).await;
    assert_eq!(foreign.error_code(403), "FOREIGN_ORIGIN");
}
