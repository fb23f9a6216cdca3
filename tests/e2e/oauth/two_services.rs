//! OAuth at two servers on one database: a token is valid at both, used once, and revoked at both within a second. A kill leaves
//! no token step half done.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use entity::oauth_token;
use sea_orm::{ColumnTrait, Database, EntityTrait, QueryFilter};
use values::kind::{TokenKind, TokenState};

use crate::support::{Client, Home, OAuthClient, Program, Tokens, program};

/// The base URL of both servers: tokens are bound to it, and two servers behind one URL share it.
const BASE_URL: &str = "http://127.0.0.1:9";

async fn sign_in(node: &Program) -> Client {
    node.anonymous().sign_in(program::EMAIL, program::PASSWORD).await
}

/// Covers the fault table (row 37).
#[actix_web::test]
async fn revocation_reaches_the_other_node_within_a_second() {
    let home = Home::new().await;
    program::create_account(&home);
    let (one, other) = (
        Program::start_with_base_url(&home, "data", BASE_URL).await,
        Program::start_with_base_url(&home, "second", BASE_URL).await,
    );
    let browser = sign_in(&one).await;
    let at_one = OAuthClient::new(one.anonymous()).await;
    let at_other = at_one.with_client(other.anonymous());
    let tokens = at_one.connect(&browser, "read:library").await;
    assert_eq!(
        (at_one.call_status(&tokens.access).await, at_other.call_status(&tokens.access).await),
        (200, 200)
    );

    assert_eq!(at_one.post_as_client("/oauth/revoke", &[("token", &tokens.refresh)]).await.status, 200);
    let ended = Instant::now();

    assert_eq!(at_one.call_status(&tokens.access).await, 401);
    let last_admitted = loop {
        let requested_at = Instant::now();
        if at_other.call_status(&tokens.access).await == 401 {
            break requested_at;
        }
        assert!(
            requested_at.duration_since(ended) < Duration::from_secs(2),
            "the other service still accepts the credential"
        );
    };
    assert!(last_admitted.duration_since(ended) <= Duration::from_secs(1));
}

/// Covers the fault table (row 44).
#[actix_web::test]
async fn concurrent_use_at_two_nodes_succeeds_once() {
    let home = Home::new().await;
    program::create_account(&home);
    let (one, other) = (
        Program::start_with_base_url(&home, "data", BASE_URL).await,
        Program::start_with_base_url(&home, "second", BASE_URL).await,
    );
    let browser = sign_in(&one).await;
    let at_one = OAuthClient::new(one.anonymous()).await;
    let at_other = at_one.with_client(other.anonymous());
    for by_code in [true, false] {
        let code = at_one.obtain_code(&browser, "read:library").await;
        let token = if by_code { code } else { Tokens::from_response(&at_one.exchange(&code).await).refresh };

        // Half of the attempts at each server, so that they meet in the database and not in one actor.
        let tries =
            (0..8).map(|n| {
                let (assistant, token) = (if n % 2 == 0 { &at_one } else { &at_other }, &token);
                async move {
                    if by_code { assistant.exchange(token).await } else { assistant.refresh(token).await }
                }
            });
        let answers = futures_util::future::join_all(tries).await;

        let won: Vec<_> =
            answers.iter().filter(|answer| answer.status == 200).map(Tokens::from_response).collect();
        assert_eq!(won.len(), 1, "{:?}", answers.iter().map(|answer| &answer.text).collect::<Vec<_>>());
        assert!(answers.iter().all(|answer| answer.status == 200 || answer.body["error"] == "invalid_grant"));
        for assistant in [&at_one, &at_other] {
            assert_eq!(assistant.refresh(&won[0].refresh).await.body["error"], "invalid_grant");
        }
    }
}

/// Covers the fault table (row 45).
#[actix_web::test]
async fn kill_during_refresh_leaves_exactly_one_valid_token() {
    let home = Home::new().await;
    program::create_account(&home);
    let mut rounds = Vec::new();
    // The kill comes some milliseconds later in each round: at different points of the refresh.
    for round in 0..6 {
        let running = Program::start_with_base_url(&home, "data", BASE_URL).await;
        let assistant = OAuthClient::new(running.anonymous()).await;
        let tokens = assistant.connect(&sign_in(&running).await, "read:library").await;
        let old = tokens.refresh;
        let fields =
            [("client_id", assistant.id.as_str()), ("grant_type", "refresh_token"), ("refresh_token", &old)];
        let refreshed = assistant.client.try_post_form("/oauth/token", &fields);
        let killed = async {
            tokio::time::sleep(Duration::from_millis(round)).await;
            running.kill();
        };
        let (answer, ()) = tokio::join!(refreshed, killed);
        rounds.push((assistant.clone(), old, answer.ok().filter(|answer| answer.status == 200)));
    }

    let rows = Database::connect(home.database_url()).await.unwrap();
    let unspent = oauth_token::Entity::find()
        .filter(oauth_token::Column::Kind.eq(TokenKind::Refresh))
        .filter(oauth_token::Column::State.eq(TokenState::Issued));
    let unspent = unspent.all(&rows).await.unwrap();
    assert_eq!(unspent.iter().map(|token| token.grant_id).collect::<HashSet<_>>().len(), rounds.len());
    assert_eq!(unspent.len(), rounds.len(), "each connection has exactly one valid refresh token");
    let running = Program::start_with_base_url(&home, "data", BASE_URL).await;
    for (assistant, old, answer) in rounds {
        let assistant = assistant.with_client(running.anonymous());
        match answer {
            Some(answer) => {
                drop(Tokens::from_response(&assistant.refresh(&Tokens::from_response(&answer).refresh).await))
            }
            // Without a response the client does not know whether the token was spent.
            None => assert!(matches!(assistant.refresh(&old).await.status, 200 | 400)),
        }
    }
}

#[actix_web::test]
async fn base_url_without_https_is_warned_of_at_start() {
    for (base, warned) in
        [("http://library.example.org", true), ("https://library.example.org", false), (BASE_URL, false)]
    {
        let home = Home::new().await;
        let running = Program::start_with_base_url(&home, "data", base).await;
        assert!(running.terminate().await.success());

        let log = std::fs::read_to_string(home.path("data.log")).unwrap();
        assert_eq!(
            log.lines().any(|line| line.contains("WARN") && line.contains("https")),
            warned,
            "{base}: {log}"
        );
    }
}
