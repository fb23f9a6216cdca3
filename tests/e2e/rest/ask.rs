//! Questions: answers, citations and costs.

use std::time::Duration;

use actors::ai::answers;
use database::Db;
use errors::Error;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{ChatEndpoint, ChatReply, Key, Response, Server};

const SENTENCE: &str = "The quagga of Artis died on the twelfth of August 1883.";
const CORRECT_ANSWER: ChatReply = ChatReply::Text("\"The quagga of Artis died\" [1].", 600);

async fn ask(key: &Key, question: &str) -> Response {
    key.post("/rest/v2/ask", json!({ "question": question })).await
}

async fn ask_about_quagga(key: &Key) -> Response {
    ask(key, "When did the quagga of Artis die?").await
}

/// Creates a user with a bookmark about the quagga.
async fn create_reader(server: &Server) -> (Key, Value) {
    let key = server.user(Plan::Pro).await.full_key().await;
    let saved = save_quagga(&key).await;
    (key, saved)
}

async fn save_quagga(key: &Key) -> Value {
    let text = format!("Artis had many animals. {SENTENCE} It was the last of its kind.\n\nTea was served.");
    let saved = key.save_text("https://example.org/quagga", &text).await;
    key.wait_for(&saved, "ready").await
}

async fn answers_and_budget_share(key: &Key) -> (i64, f64) {
    let usage = key.get("/rest/v2/usage").await.data(200).clone();
    let chat = &usage["aiBudget"]["groups"][0];
    (usage["answers"]["thisMonth"].as_i64().unwrap(), chat["share"].as_f64().unwrap())
}

#[actix_web::test]
async fn embedded_answerer_quotes_the_document() {
    let server = Server::start().await;
    let (key, saved) = create_reader(&server).await;

    let answer = ask_about_quagga(&key).await.data(200).clone();

    assert_eq!(answer["model"], "carrel-extractive");
    assert_eq!(answer["answer"], format!("“{SENTENCE}” [1]"));
    assert_eq!(answer["passagesRead"], 1);
    let citation = &answer["citations"][0];
    assert_eq!((&citation["n"], &citation["quote"]), (&1.into(), &SENTENCE.into()));
    assert_eq!((&citation["documentId"], &citation["verified"]), (&saved["documentId"], &true.into()));
    let path = format!("/rest/v2/documents/{}", saved["documentId"].as_str().unwrap());
    let text: Vec<char> = key.get(&path).await.data(200)["text"].as_str().unwrap().chars().collect();
    let at = |end: &str| usize::try_from(citation[end].as_u64().unwrap()).unwrap();
    assert_eq!(text[at("quoteStart")..at("quoteEnd")].iter().collect::<String>(), SENTENCE);
    assert_eq!(answers_and_budget_share(&key).await, (1, 0.0));
}

/// Covers the fault table (row 22).
#[actix_web::test]
async fn clock_jump_over_a_month_and_back_resets_no_count() {
    let server = Server::start().await;
    let (key, _) = create_reader(&server).await;
    let month = Duration::from_secs(31 * 24 * 3600);
    ask_about_quagga(&key).await.data(200);

    server.clock.advance(month);
    assert_eq!(answers_and_budget_share(&key).await.0, 0);
    ask_about_quagga(&key).await.data(200);
    server.clock.set_back(month);

    assert_eq!(answers_and_budget_share(&key).await.0, 1);
    server.clock.advance(month);
    assert_eq!(answers_and_budget_share(&key).await.0, 1);
}

#[actix_web::test]
async fn question_without_answer_in_the_library_counts() {
    let server = Server::start().await;
    let (key, _) = create_reader(&server).await;

    // For the second question there are passages with its words, but without an answer.
    for (question, is_given) in [
        ("How do volcanoes of Iceland erupt?", false),
        ("Which animals of Mars have eleven feathers and drink oil?", true),
    ] {
        let answer = ask(&key, question).await.data(200).clone();

        let has_passages = answer["passagesRead"].as_u64().unwrap() > 0;
        let has_citations = answer["citations"] != json!([]);
        assert_eq!((has_citations, has_passages), (is_given, is_given), "{question}");
        assert!(!answer["answer"].as_str().unwrap().is_empty());
    }
    assert_eq!(answers_and_budget_share(&key).await.0, 2);
}

#[actix_web::test]
async fn endpoint_answer_is_verified_and_its_tokens_are_counted() {
    let model = ChatEndpoint::start([ChatReply::Text(
        "\"It was the last\" [1], \"of the moon\" [1], nonsense [9].",
        250_000,
    )])
    .await;
    let server = Server::start_with(&model.settings()).await;
    let (key, _) = create_reader(&server).await;

    let answer = ask_about_quagga(&key).await.data(200).clone();

    assert_eq!(answer["answer"], "\"It was the last\" [1], \"of the moon\" [2], nonsense.");
    let verified: Vec<_> = answer["citations"].as_array().unwrap().iter().map(|c| &c["verified"]).collect();
    assert_eq!(verified, [true, false]);
    assert_eq!(answer["model"], "heron-1");
    assert_eq!(answers_and_budget_share(&key).await, (1, 0.25));
    let system = model.prompts()[0]["messages"][0]["content"].to_string();
    assert!(!system.contains("quagga") && model.prompts()[0].to_string().contains("quagga"));
}

/// Covers the fault table (row 17).
#[actix_web::test]
async fn absurd_total_tokens_fail_the_call_and_charge_nothing() {
    let reply_with_usage = |tokens| ChatReply::TextWithUsage("\"The quagga of Artis died\" [1].", tokens);
    let absurd = [json!(-1), json!(10_000_001), json!(i64::MAX), json!(u64::MAX), json!(1e300)];
    let model = ChatEndpoint::start(absurd.map(reply_with_usage)).await;
    let server = Server::start_with(&model.settings()).await;
    let (key, _) = create_reader(&server).await;

    for count in 1..=5 {
        assert_eq!(ask_about_quagga(&key).await.error_code(503), "AI_UNAVAILABLE");
        assert_eq!(model.prompts().len(), count, "a failed call was repeated");
    }

    assert_eq!(answers_and_budget_share(&key).await, (0, 0.0));
}

/// Covers the fault table (row 17).
#[actix_web::test]
async fn busy_endpoint_is_retried() {
    let model =
        ChatEndpoint::start([ChatReply::Status(429, "0"), ChatReply::Truncated, CORRECT_ANSWER]).await;
    let server = Server::start_with(&model.settings()).await;
    let (key, _) = create_reader(&server).await;

    ask_about_quagga(&key).await.data(200);

    assert_eq!(model.prompts().len(), 3);
    assert_eq!(answers_and_budget_share(&key).await.0, 1);
}

/// Covers the fault table (row 17).
#[actix_web::test]
async fn failing_endpoint_costs_nothing() {
    for (turn, times) in [
        (ChatReply::Status(429, "3600"), 1),
        (ChatReply::Status(401, "0"), 1),
        (ChatReply::Status(500, "0"), 3),
    ] {
        let model = ChatEndpoint::start([turn]).await;
        let server = Server::start_with(&model.settings()).await;
        let (key, _) = create_reader(&server).await;

        assert_eq!(ask_about_quagga(&key).await.error_code(503), "AI_UNAVAILABLE");

        assert_eq!(model.prompts().len(), times);
        assert_eq!(answers_and_budget_share(&key).await, (0, 0.0));
    }
}

#[actix_web::test]
async fn daily_token_limit_pauses_ai_for_all_until_midnight() {
    let model = ChatEndpoint::start([CORRECT_ANSWER]).await;
    let [url, name, secret] = model.settings();
    let server = Server::start_with(&[url, name, secret, ("AI__DAILY_TOKENS", "1000")]).await;
    let ((one, _), (other, _)) = (create_reader(&server).await, create_reader(&server).await);
    ask_about_quagga(&one).await.data(200);
    ask_about_quagga(&other).await.data(200);

    assert_eq!(ask_about_quagga(&one).await.error_code(503), "AI_PAUSED");

    assert_eq!(answers_and_budget_share(&one).await.0, 1);
    let found = one.get("/rest/v2/search?q=quagga").await.data(200).clone();
    assert_eq!(found["degraded"], "lexical");
    server.clock.advance(Duration::from_secs(12 * 3600));
    ask_about_quagga(&one).await.data(200);
}

#[actix_web::test]
async fn concurrent_questions_stop_exactly_at_the_monthly_limit() {
    let server = Server::start_with(&[("PLANS__PRO__ANSWERS_PER_MONTH", "5")]).await;
    let (key, _) = create_reader(&server).await;

    let all = futures_util::future::join_all((0..20).map(|_| ask_about_quagga(&key))).await;

    let refused: Vec<_> =
        all.iter().filter(|answer| answer.status != 200).map(|a| a.error_code(402)).collect();
    assert_eq!(refused, ["PLAN_LIMIT_REACHED"; 15]);
    assert_eq!(answers_and_budget_share(&key).await.0, 5);
}

#[actix_web::test]
async fn claims_of_two_nodes_stop_exactly_at_the_monthly_limit() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await.id();
    let nodes =
        [Db::open(&server.database_url()).await.unwrap(), Db::open(&server.database_url()).await.unwrap()];
    let mut limits = server.context().core.plans.limits(Plan::Pro).clone();
    limits.answers_per_month = 7;
    let now = server.context().core.clock.now();

    let claims = (0..40).map(|n| answers::claim(&nodes[n % 2], user, &limits, now));
    let claimed = futures_util::future::join_all(claims).await;

    assert!(claimed.iter().all(|claim| matches!(claim, Ok(_) | Err(Error::PlanLimit(_)))));
    let claims: Vec<_> = claimed.into_iter().filter_map(Result::ok).collect();
    assert_eq!(claims.len(), 7);
    let twice =
        claims.iter().take(3).flat_map(|claim| nodes.iter().map(|node| answers::release(node, *claim)));
    for given_back in futures_util::future::join_all(twice).await {
        given_back.unwrap();
    }
    let again = (0..10).map(|n| answers::claim(&nodes[n % 2], user, &limits, now));
    let again = futures_util::future::join_all(again).await;
    assert_eq!(again.iter().filter(|claim| claim.is_ok()).count(), 3);
    for node in nodes {
        node.close().await.unwrap();
    }
}

#[actix_web::test]
async fn claim_of_a_dead_process_is_returned_after_its_lease() {
    let server = Server::start_with(&[("PLANS__PRO__ANSWERS_PER_MONTH", "1")]).await;
    let user = server.user(Plan::Pro).await;
    let (user, key) = (user.id(), user.full_key().await);
    save_quagga(&key).await;
    let limits = server.context().core.plans.limits(Plan::Pro).clone();
    answers::claim(&server.context().core.db, user, &limits, server.context().core.clock.now())
        .await
        .unwrap();
    assert_eq!(ask_about_quagga(&key).await.error_code(402), "PLAN_LIMIT_REACHED");
    assert_eq!(answers_and_budget_share(&key).await.0, 1);

    server.clock.advance(answers::CLAIM_LEASE);

    assert_eq!(answers_and_budget_share(&key).await.0, 0);
    ask_about_quagga(&key).await.data(200);
    assert_eq!(ask_about_quagga(&key).await.error_code(402), "PLAN_LIMIT_REACHED");
    assert_eq!(answers_and_budget_share(&key).await.0, 1);
}

#[actix_web::test]
async fn question_reads_only_own_selected_bookmarks() {
    let server = Server::start().await;
    let ((key, saved), (_, theirs)) = (create_reader(&server).await, create_reader(&server).await);
    let other =
        key.save_text("https://example.org/other", "The quagga of Artis died of age, says this.").await;
    key.wait_for(&other, "ready").await;
    let ask = |ids: Value| {
        let body = json!({ "question": "When did the quagga of Artis die?", "bookmarkIds": ids });
        let key = &key;
        async move { key.post("/rest/v2/ask", body).await }
    };

    let answer = ask(json!([saved["bookmarkId"], saved["bookmarkId"]])).await.data(200).clone();

    assert_eq!(answer["passagesRead"], 1);
    assert_eq!(answer["citations"][0]["bookmarkId"], saved["bookmarkId"]);
    let foreign = ask(json!([saved["bookmarkId"], theirs["bookmarkId"]])).await;
    assert_eq!(foreign.error_code(404), "NOT_FOUND");
    let message = "the item (bookmarkIds[1]) does not exist, or it is not yours";
    assert_eq!(foreign.body["error"]["message"], message);
    assert_eq!(ask(json!([])).await.faults(), ["bookmarkIds"]);
    assert_eq!(answers_and_budget_share(&key).await.0, 1);
}

#[actix_web::test]
async fn null_in_place_of_bookmarks_reads_the_whole_library() {
    let server = Server::start().await;
    let (key, _) = create_reader(&server).await;
    let body = json!({ "question": "When did the quagga of Artis die?" });
    let whole = key.post("/rest/v2/ask", body.clone()).await.data(200).clone();
    // As every optional field that has no value to clear.
    let with_null = json!({ "question": body["question"], "bookmarkIds": null });

    let answer = key.post("/rest/v2/ask", with_null).await.data(200).clone();

    assert!(whole["passagesRead"].as_i64().is_some_and(|passages| passages > 0), "{whole}");
    assert_eq!(answer["citations"], whole["citations"]);
    assert_eq!(answer["passagesRead"], whole["passagesRead"]);
}

#[actix_web::test]
async fn short_passage_is_read_with_its_neighbours() {
    let model = ChatEndpoint::start([ChatReply::Text("\"Bruno was fed hay\" [2].", 1)]).await;
    let server = Server::start_with(&model.settings()).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let long = "Bruno was fed hay and stood in the yard all day, whatever the weather was like. ".repeat(30);
    let text = format!("{long}\n\n# The quagga of Artis\n\n{}", "It had a name and a stable. ".repeat(16));
    let saved = key.save_text("https://example.org/bruno", &text).await;
    key.wait_for(&saved, "ready").await;

    let answer = ask_about_quagga(&key).await.data(200).clone();

    assert_eq!(answer["passagesRead"], 2);
    let citation = &answer["citations"][0];
    assert_eq!((&citation["quote"], &citation["verified"]), (&"Bruno was fed hay".into(), &true.into()));
}
