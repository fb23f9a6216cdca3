//! The invariant of grants: whatever actions are taken in whatever order, at most one token family is valid, and a secret that is
//! presented twice leaves none valid.

use std::sync::Arc;
use std::time::Duration;

use database::QueryPlan;
use entity::{oauth_client, oauth_code, oauth_grant, oauth_token, session, user};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter};
use values::id::{SessionId, UserId};
use values::kind::{ClientAuth, CodeState, GrantState, TokenKind, TokenState};
use values::scope::Scope;

use super::client::{ClientMetadata, register};
use super::consent::{create_ticket, decide};
use super::lifecycle::{TransitionError, present_code, redeem_code, spend_token};
use super::revocation::{end_all_grants, lock_active_owner};
use super::*;
use crate::service_state::{self, ServiceStateKey};
use library::clock::TestClock;

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const URI: &str = "https://a.example/cb";

/// One action; a number names one of the codes or tokens that were issued before.
#[derive(Clone, Debug)]
enum FlowAction {
    Consent,
    Exchange(usize),
    ExchangeByAnother(usize),
    Refresh(usize),
    RefreshByAnother(usize),
    Revoke(usize),
    RevokeByAccess(usize),
    Disconnect,
    ChangePassword,
    Sweep,
    Wait(u64),
    WaitDays(u64),
}

fn action() -> impl Strategy<Value = FlowAction> {
    prop_oneof![
        3 => Just(FlowAction::Consent),
        4 => (0..6_usize).prop_map(FlowAction::Exchange),
        1 => (0..6_usize).prop_map(FlowAction::ExchangeByAnother),
        6 => (0..8_usize).prop_map(FlowAction::Refresh),
        1 => (0..8_usize).prop_map(FlowAction::RefreshByAnother),
        1 => (0..8_usize).prop_map(FlowAction::Revoke),
        1 => (0..8_usize).prop_map(FlowAction::RevokeByAccess),
        1 => Just(FlowAction::Disconnect),
        1 => Just(FlowAction::ChangePassword),
        1 => Just(FlowAction::Sweep),
        2 => (1..7_000_u64).prop_map(FlowAction::Wait),
        1 => (1..120_u64).prop_map(FlowAction::WaitDays),
    ]
}

/// A user, the user's browser, and two clients.
struct AuthorizationFlow {
    ctx: GrantContext,
    clock: Arc<TestClock>,
    browser: Browser,
    client: oauth_client::Model,
    other: oauth_client::Model,
    codes: Vec<String>,
    tokens: Vec<String>,
    accesses: Vec<String>,
}

impl AuthorizationFlow {
    async fn new(ctx: &GrantContext, clock: &Arc<TestClock>) -> Self {
        let now = clock.now();
        let owner = user::Model::new(
            UserId::new(now),
            format!("{}@reader.example", UserId::new(now)),
            String::new(),
            Plan::Pro,
            now,
        );
        let db = &ctx.db;
        user::Entity::insert(owner.clone().into_active_model())
            .exec_without_returning(db.write())
            .await
            .unwrap();
        let session = session::Model {
            id: SessionId::new(now),
            user_id: owner.id,
            secret_hash: owner.id.0.as_bytes().to_vec(),
            created_at: now,
            expires_at: now + Duration::from_secs(1_000_000_000),
            device: None,
            last_used_at: now,
        };
        session::Entity::insert(session.clone().into_active_model())
            .exec_without_returning(db.write())
            .await
            .unwrap();
        Self {
            ctx: ctx.clone(),
            clock: clock.clone(),
            browser: Browser { user: owner.id, session: session.id },
            client: new_client(ctx).await,
            other: new_client(ctx).await,
            codes: Vec::new(),
            tokens: Vec::new(),
            accesses: Vec::new(),
        }
    }

    async fn apply(&mut self, action: &FlowAction) {
        match action {
            FlowAction::Consent => self.consent().await,
            FlowAction::Exchange(n) => self.exchange(*n, self.client.clone()).await,
            FlowAction::ExchangeByAnother(n) => self.exchange(*n, self.other.clone()).await,
            FlowAction::Refresh(n) => self.refresh(*n).await,
            FlowAction::RefreshByAnother(n) => {
                let Some(token) = self.tokens.get(*n).cloned() else { return };
                let before = self.valid_refresh_tokens().await;
                let request = TokenRefresh { client: self.other.clone(), token, scopes: None };
                let refused = refresh(&self.ctx, request).await;
                self.assert_refusal(&refused.unwrap_err(), &self.other).await;
                assert_eq!(self.valid_refresh_tokens().await, before, "another client's try ended a grant");
            }
            FlowAction::Revoke(n) => {
                let Some(token) = self.tokens.get(*n).cloned() else { return };
                revoke(&self.ctx, self.client.clone(), token).await.unwrap();
            }
            FlowAction::RevokeByAccess(n) => {
                let Some(token) = self.accesses.get(*n).cloned() else { return };
                let good = self.valid_family(&token).await.is_some();
                revoke(&self.ctx, self.client.clone(), token).await.unwrap();
                assert!(!good || self.valid_refresh_tokens().await == 0, "a revocation left the grant alive");
            }
            FlowAction::Disconnect => self.disconnect().await,
            FlowAction::ChangePassword => {
                let txn = self.ctx.db.begin().await.unwrap();
                lock_active_owner(&txn, self.browser.user).await.unwrap();
                end_all_grants(&txn, self.browser.user).await.unwrap();
                txn.commit().await.unwrap();
                assert_eq!(self.valid_refresh_tokens().await, 0);
            }
            FlowAction::Sweep => sweep::run(&self.ctx).await.unwrap(),
            FlowAction::Wait(seconds) => self.clock.advance(Duration::from_secs(*seconds)),
            FlowAction::WaitDays(days) => self.clock.advance(Duration::from_secs(*days * 86_400)),
        }
    }

    async fn consent(&mut self) {
        // The clean-up forgets a client that was not used for a month: it registers again.
        if self.is_forgotten(&self.client).await {
            self.client = new_client(&self.ctx).await;
        }
        let scopes: Scopes = [Scope::ReadLibrary].as_slice().into();
        let request = AuthorizationRequest {
            client: self.client.clone(),
            redirect_uri: URI.to_owned(),
            state: "s".to_owned(),
            challenge: CHALLENGE.to_owned(),
            scopes: scopes.clone(),
        };
        let ticket = create_ticket(&self.ctx, request, self.browser, scopes.clone()).await.unwrap();
        let decided = decide(&self.ctx, self.browser, &ticket, scopes.clone()).await.unwrap().unwrap();
        self.codes.push(decided.code.unwrap().expose().to_owned());
        let again = decide(&self.ctx, self.browser, &ticket, scopes).await.unwrap();
        assert!(again.is_none(), "a consent page was answered twice");
    }

    async fn exchange(&mut self, n: usize, client: oauth_client::Model) {
        let Some(code) = self.codes.get(n).cloned() else { return };
        let own = client.id == self.client.id;
        let (spent, connected) = self.code_use(&code).await;
        let presenter = client.clone();
        let verifier = pkce::CodeVerifier::parse(VERIFIER);
        let request = CodeExchange { client, code, redirect_uri: Some(URI.to_owned()), verifier };
        match exchange(&self.ctx, request).await {
            Ok(issued) => {
                assert!(own, "a code was good for another client");
                assert!(!spent, "a code was good twice");
                self.tokens.push(issued.refresh.expose().to_owned());
                self.accesses.push(issued.access.expose().to_owned());
            }
            Err(refused) => {
                self.assert_refusal(&refused, &presenter).await;
                let ended = self.valid_refresh_tokens().await == 0;
                // A client that the clean-up has removed is refused before its code is looked at.
                let is_looked_at = !matches!(refused, TokenError::InvalidClient);
                let must_end = connected && is_looked_at;
                assert!(!must_end || ended, "a second use of a code left its grant alive");
            }
        }
    }

    async fn is_forgotten(&self, client: &oauth_client::Model) -> bool {
        client::find(self.ctx.db.read(), &client.id.to_string()).await.unwrap().is_none()
    }

    /// Asserts that the secret was refused, or that the client was, because the clean-up has removed it.
    async fn assert_refusal(&self, refused: &TokenError, client: &oauth_client::Model) {
        match refused {
            TokenError::InvalidGrant(_) | TokenError::UnknownGrant(_) => {}
            TokenError::InvalidClient => {
                assert!(self.is_forgotten(client).await, "a client that is there was refused")
            }
            TokenError::InvalidVerifier | TokenError::InvalidScope | TokenError::Internal(_) => {
                panic!("{refused}")
            }
        }
    }

    /// Returns whether a code was used, and whether the grant that it made is still connected.
    async fn code_use(&self, code: &str) -> (bool, bool) {
        let hash = Secret::parse_token(consent::CODE_PREFIX, code).unwrap().hash();
        let row = oauth_code::Entity::by_hash(hash.bytes()).one(self.ctx.db.read()).await.unwrap();
        let Some(row) = row.filter(|row| row.state != CodeState::Issued) else { return (false, false) };
        let grant = self.grant().await.filter(|grant| grant.state == GrantState::Connected);
        (true, grant.is_some_and(|grant| row.token_family == Some(grant.token_family)))
    }

    async fn refresh(&mut self, n: usize) {
        let Some(token) = self.tokens.get(n).cloned() else { return };
        let spent = self.is_spent_of_current_family(&token).await;
        let request = TokenRefresh { client: self.client.clone(), token, scopes: None };
        match refresh(&self.ctx, request).await {
            Ok(issued) => {
                assert!(!spent, "a token was good twice");
                self.tokens.push(issued.refresh.expose().to_owned());
                self.accesses.push(issued.access.expose().to_owned());
            }
            Err(refused) => {
                self.assert_refusal(&refused, &self.client).await;
                assert!(
                    !spent || self.valid_refresh_tokens().await == 0,
                    "a second use left the grant alive"
                );
            }
        }
    }

    async fn disconnect(&self) {
        let txn = self.ctx.db.begin().await.unwrap();
        if let Some(grant) = self.grant().await {
            revocation::end(&txn, &grant, revocation::GrantEnd::Disconnected).await.unwrap();
        }
        txn.commit().await.unwrap();
        assert_eq!(self.valid_refresh_tokens().await, 0);
    }

    async fn grant(&self) -> Option<oauth_grant::Model> {
        let between = oauth_grant::Entity::between(self.browser.user, self.client.id);
        between.one(self.ctx.db.read()).await.unwrap()
    }

    /// Returns whether this token was spent, has not expired, and belongs to the current family of its grant.
    async fn is_spent_of_current_family(&self, token: &str) -> bool {
        let hash = Secret::parse_token(token::REFRESH_PREFIX, token).unwrap().hash();
        let row = oauth_token::Entity::by_hash(hash.bytes()).one(self.ctx.db.read()).await.unwrap();
        let (Some(row), Some(grant)) = (row, self.grant().await) else { return false };
        row.state == TokenState::Spent
            && self.clock.now() < row.expires_at
            && token::is_current(&self.ctx, &row, &grant)
    }

    /// Returns the token family of an access token that the MCP server would accept.
    async fn valid_family(&self, access: &str) -> Option<i64> {
        let secret = Secret::parse_token(ACCESS_PREFIX, access).unwrap();
        let hash = secret.hash();
        let access = find_access(&self.ctx, &hash).await.unwrap()?;
        let token = oauth_token::Entity::by_hash(hash.bytes()).one(self.ctx.db.read()).await.unwrap()?;
        (self.clock.now() < access.expires_at).then_some(token.token_family)
    }

    /// Returns the number of token families of which an access token is accepted.
    async fn accepted_families(&self) -> usize {
        let mut families = std::collections::BTreeSet::new();
        for access in &self.accesses {
            families.extend(self.valid_family(access).await);
        }
        families.len()
    }

    /// Returns the number of codes and the number of tokens that are stored.
    async fn count_rows(&self) -> (usize, usize) {
        let db = self.ctx.db.read();
        let codes = oauth_code::Entity::owned_by(self.browser.user).all(db).await.unwrap();
        let of_grant = oauth_token::Column::GrantId.eq(self.grant().await.unwrap().id);
        let tokens = oauth_token::Entity::find().filter(of_grant).all(db).await.unwrap();
        (codes.len(), tokens.len())
    }

    /// Returns the number of refresh tokens that would be accepted.
    async fn valid_refresh_tokens(&self) -> usize {
        let Some(grant) = self.grant().await else { return 0 };
        let unspent = oauth_token::Entity::find()
            .filter(oauth_token::Column::GrantId.eq(grant.id))
            .filter(oauth_token::Column::Kind.eq(TokenKind::Refresh))
            .filter(oauth_token::Column::State.eq(TokenState::Issued))
            .filter(oauth_token::Column::ExpiresAt.gt(self.clock.now()));
        let unspent = unspent.all(self.ctx.db.read()).await.unwrap();
        unspent.iter().filter(|token| token::is_current(&self.ctx, token, &grant)).count()
    }
}

async fn exchange(ctx: &GrantContext, request: CodeExchange) -> Result<TokenPair, TokenError> {
    let found = code::find_code(ctx, &request.code).await?;
    code::exchange(ctx, request, found).await
}

async fn refresh(ctx: &GrantContext, request: TokenRefresh) -> Result<TokenPair, TokenError> {
    let (token, grant) = token::find_refresh_token(ctx, &request).await?;
    token::refresh(ctx, request, token, grant).await
}

async fn revoke(ctx: &GrantContext, client: oauth_client::Model, sent: String) -> Result<(), TokenError> {
    let Some((token, grant)) = token::find_own_token(ctx, &client, &sent).await? else { return Ok(()) };
    token::revoke(ctx, token, grant).await
}

async fn new_client(ctx: &GrantContext) -> oauth_client::Model {
    let metadata = ClientMetadata {
        redirect_uris: vec![URI.to_owned()],
        auth: Some(ClientAuth::None),
        ..ClientMetadata::default()
    };
    let client = metadata.into_row(&RedirectRules::default(), ctx.clock.now()).unwrap();
    register(&ctx.db, client).await.unwrap().0
}

async fn new_context(folder: &tempfile::TempDir, clock: &Arc<TestClock>) -> GrantContext {
    let url = format!("sqlite:{}?mode=rwc", folder.path().join("rows.db").display());
    GrantContext {
        db: Db::open(&url).await.unwrap(),
        clock: clock.clone(),
        cache_epoch: Arc::new(CacheEpoch::new(clock.clone())),
        resource: "https://carrel.example/mcp".into(),
        code_lifetime: Duration::from_secs(60),
        access_lifetime: Duration::from_secs(3600),
        unused_client_lifetime: Duration::from_secs(30 * 86_400),
        redirects: Arc::new(RedirectRules::default()),
    }
}

#[tokio::test]
async fn every_refused_refresh_takes_the_same_statements() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_714_996_800_000)));
    let mut ctx = new_context(&folder, &clock).await;
    let mut flow = AuthorizationFlow::new(&ctx, &clock).await;
    flow.consent().await;
    flow.exchange(0, flow.client.clone()).await;
    flow.refresh(0).await;
    flow.refresh(1).await;
    let mut expired = AuthorizationFlow::new(&ctx, &clock).await;
    expired.consent().await;
    expired.exchange(0, expired.client.clone()).await;
    clock.advance(token::REFRESH_LIFETIME);
    let mut recent = AuthorizationFlow::new(&ctx, &clock).await;
    recent.consent().await;
    recent.exchange(0, recent.client.clone()).await;
    let (flow_client, other) = (flow.client.clone(), recent.other.clone());
    flow.disconnect().await;
    let sent = ctx.db.record_statements();

    let statements = async |client: &oauth_client::Model, token: &str| {
        sent.take();
        let request = TokenRefresh { client: client.clone(), token: token.to_owned(), scopes: None };
        assert!(
            matches!(
                refresh(&ctx, request).await,
                Err(TokenError::InvalidGrant(_) | TokenError::UnknownGrant(_))
            ),
            "{token}"
        );
        sent.take().len()
    };

    let unknown = format!("cr_{}", "0".repeat(43));
    let usual = statements(&flow_client, &unknown).await;
    assert!(usual > 0, "nothing was counted");
    for (client, token) in [
        (&flow_client, ""),
        (&flow_client, "garbage"),
        (&flow_client, flow.codes[0].as_str()),
        (&flow_client, flow.tokens[0].as_str()),
        (&flow_client, flow.tokens[2].as_str()),
        (&expired.client, expired.tokens[0].as_str()),
        (&other, recent.tokens[0].as_str()),
    ] {
        assert_eq!(statements(client, token).await, usual, "{token}");
    }
}

#[tokio::test]
async fn refresh_finds_spends_and_issues_with_one_statement_each() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_714_996_800_000)));
    let mut ctx = new_context(&folder, &clock).await;
    let mut flow = AuthorizationFlow::new(&ctx, &clock).await;
    flow.consent().await;
    flow.exchange(0, flow.client.clone()).await;
    let sent = ctx.db.record_statements();

    let request = TokenRefresh { client: flow.client.clone(), token: flow.tokens[0].clone(), scopes: None };
    refresh(&ctx, request).await.unwrap();

    let command = |sql: &str| sql.split(' ').next().unwrap().to_owned();
    let commands: Vec<String> = sent.take().iter().map(|sent| command(&sent.sql)).collect();
    assert_eq!(commands, ["SELECT", "UPDATE", "INSERT"]);
}

/// Asserts that a step has made the cached rows of this user alone outdated, those read in this epoch, also once the generation is read.
async fn assert_outdated_alone(ctx: &GrantContext, user: UserId, read: u64) {
    let generation = service_state::read_state(ctx.db.read(), ServiceStateKey::Generation).await.unwrap();
    ctx.cache_epoch.observe_generation(generation);
    let mut bytes = *user.0.as_bytes();
    bytes[15] ^= 1;
    let other = UserId(uuid::Uuid::from_bytes(bytes));
    assert!(!ctx.cache_epoch.is_current(user, read), "a row of the user is still current");
    assert!(ctx.cache_epoch.is_current(other, read), "rows of other users are read again");
}

#[tokio::test]
async fn change_of_a_grant_makes_the_rows_of_its_user_alone_outdated() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_714_996_800_000)));
    let ctx = new_context(&folder, &clock).await;
    let mut flow = AuthorizationFlow::new(&ctx, &clock).await;
    let user = flow.browser.user;
    flow.consent().await;

    let read = ctx.cache_epoch.current();
    flow.exchange(0, flow.client.clone()).await;
    assert_outdated_alone(&ctx, user, read).await;

    let read = ctx.cache_epoch.current();
    revoke(&ctx, flow.client.clone(), flow.tokens[0].clone()).await.unwrap();
    assert_outdated_alone(&ctx, user, read).await;

    // A code that is presented twice ends its grant.
    reconnect(&mut flow).await;
    let read = ctx.cache_epoch.current();
    flow.exchange(1, flow.client.clone()).await;
    assert_outdated_alone(&ctx, user, read).await;
}

#[tokio::test]
async fn use_of_a_client_is_recorded_once_an_hour() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_714_996_800_000)));
    let ctx = new_context(&folder, &clock).await;
    let mut flow = AuthorizationFlow::new(&ctx, &clock).await;
    flow.consent().await;
    flow.exchange(0, flow.client.clone()).await;
    let connected = clock.now();
    let mut recorded = Vec::new();

    for (number, minutes) in [59, 1, 1].into_iter().enumerate() {
        clock.advance(Duration::from_secs(60 * minutes));
        let id = flow.client.id.to_string();
        flow.client = client::find(ctx.db.read(), &id).await.unwrap().unwrap();
        flow.refresh(number).await;
        let client = client::find(ctx.db.read(), &id).await.unwrap().unwrap();
        recorded.push(client.last_used_at.since(connected).as_secs() / 60);
    }

    assert_eq!(recorded, [0, 60, 60]);
}

#[tokio::test]
async fn one_of_two_concurrent_steps_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_714_996_800_000)));
    let ctx = new_context(&folder, &clock).await;
    let mut flow = AuthorizationFlow::new(&ctx, &clock).await;
    flow.consent().await;
    let db = ctx.db.write();
    let mut code = oauth_code::Entity::owned_by(flow.browser.user).one(db).await.unwrap().unwrap();
    let mut code_too = code.clone();
    present_code(db, &mut code).await.unwrap();
    assert!(matches!(present_code(db, &mut code_too).await, Err(TransitionError::AlreadyUsed)));
    let mut spent = code.clone();
    redeem_code(db, &mut code, 1).await.unwrap();
    assert!(matches!(redeem_code(db, &mut spent, 2).await, Err(TransitionError::AlreadyUsed)));
    flow.consent().await;
    flow.exchange(1, flow.client.clone()).await;
    let refresh = oauth_token::Entity::find().filter(oauth_token::Column::Kind.eq(TokenKind::Refresh));
    let mut token = refresh.one(db).await.unwrap().unwrap();
    let mut token_too = token.clone();
    let is_refresh = || oauth_token::Column::Kind.eq(TokenKind::Refresh);
    let is_access = oauth_token::Column::Kind.eq(TokenKind::Access);
    assert!(matches!(spend_token(db, &mut token, is_access).await, Err(TransitionError::AlreadyUsed)));
    spend_token(db, &mut token, is_refresh()).await.unwrap();
    assert!(matches!(spend_token(db, &mut token_too, is_refresh()).await, Err(TransitionError::AlreadyUsed)));

    let kept = oauth_code::Entity::by_hash(&code.hash).one(db).await.unwrap().unwrap();
    assert_eq!((kept.state, kept.token_family), (CodeState::Redeemed, Some(1)));
    assert_eq!(code, kept);
}

/// Connects the client again, a millisecond later.
async fn reconnect(flow: &mut AuthorizationFlow) {
    flow.clock.advance(Duration::from_millis(1));
    let next = flow.codes.len();
    flow.consent().await;
    flow.exchange(next, flow.client.clone()).await;
}

#[tokio::test]
async fn repeated_connections_keep_a_bounded_number_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_714_996_800_000)));
    let ctx = new_context(&folder, &clock).await;
    let mut flow = AuthorizationFlow::new(&ctx, &clock).await;
    let mut other = AuthorizationFlow::new(&ctx, &clock).await;
    reconnect(&mut other).await;

    for _ in 0..consent::MAX_CODES + 2 {
        reconnect(&mut flow).await;
    }

    let families = 1 + usize::try_from(code::MAX_ENDED_FAMILIES).unwrap();
    assert_eq!(flow.count_rows().await, (usize::try_from(consent::MAX_CODES).unwrap(), 2 * families));
    assert_eq!(flow.valid_refresh_tokens().await, 1);
    assert_eq!(other.count_rows().await, (1, 2));
}

#[tokio::test]
async fn oldest_spent_refresh_tokens_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_714_996_800_000)));
    let ctx = new_context(&folder, &clock).await;
    let mut flow = AuthorizationFlow::new(&ctx, &clock).await;
    let mut other = AuthorizationFlow::new(&ctx, &clock).await;
    for flow in [&mut flow, &mut other] {
        reconnect(flow).await;
        flow.refresh(0).await;
    }
    let hash = Secret::parse_token(token::REFRESH_PREFIX, &flow.tokens[0]).unwrap().hash();
    let spent = oauth_token::Entity::by_hash(hash.bytes()).one(ctx.db.read()).await.unwrap().unwrap();
    assert_eq!(spent.state, TokenState::Spent);
    clock.advance(Duration::from_secs(1));
    let numbers: Vec<u64> = (0..sweep::MAX_SPENT_TOKENS).collect();
    for numbers in numbers.chunks(1000) {
        let rows = numbers.iter().map(|number| {
            let hash = number.to_be_bytes().repeat(4);
            oauth_token::Model { hash, issued_at: clock.now(), ..spent.clone() }.into_active_model()
        });
        oauth_token::Entity::insert_many(rows).exec_without_returning(ctx.db.write()).await.unwrap();
    }

    sweep::run(&ctx).await.unwrap();

    // The oldest spent token is removed. The other tokens are two valid access tokens and the valid refresh token.
    assert_eq!(flow.count_rows().await.1, numbers.len() + 3);
    assert_eq!(other.count_rows().await.1, 4);
    let request = TokenRefresh { client: flow.client.clone(), token: flow.tokens[0].clone(), scopes: None };
    assert!(matches!(refresh(&ctx, request).await, Err(TokenError::UnknownGrant(_))));
    assert_eq!(flow.valid_refresh_tokens().await, 1);
}

#[tokio::test]
async fn expired_tokens_are_removed_in_parts_and_end_their_grant() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_714_996_800_000)));
    let mut ctx = new_context(&folder, &clock).await;
    // The removal of the client would remove its grant and the tokens.
    ctx.unused_client_lifetime = 2 * token::REFRESH_LIFETIME;
    let mut flow = AuthorizationFlow::new(&ctx, &clock).await;
    reconnect(&mut flow).await;
    let grant = flow.grant().await.unwrap();
    let issued = oauth_token::Entity::find().filter(oauth_token::Column::GrantId.eq(grant.id));
    let issued = issued.all(ctx.db.read()).await.unwrap();
    for (number, row) in issued.iter().enumerate() {
        let copies = (0..=sweep::BATCH_ROWS).map(|copy| {
            let hash = [number as u64, copy].map(u64::to_be_bytes).concat();
            oauth_token::Model { hash, ..row.clone() }.into_active_model()
        });
        oauth_token::Entity::insert_many(copies).exec_without_returning(ctx.db.write()).await.unwrap();
    }
    clock.advance(token::REFRESH_LIFETIME + Duration::from_secs(2 * 24 * 3600));
    let mut other = AuthorizationFlow::new(&ctx, &clock).await;
    reconnect(&mut other).await;

    let mut recorded = ctx.clone();
    let sent = recorded.db.record_statements();
    sweep::run(&recorded).await.unwrap();

    assert_eq!(flow.count_rows().await.1, 0);
    assert_eq!(flow.grant().await.unwrap().state, GrantState::Disconnected);
    assert_eq!((other.count_rows().await.1, other.valid_refresh_tokens().await), (2, 1));
    let plans = QueryPlan::of_each(&ctx.db, sent.take()).await.unwrap();
    assert!(plans.iter().all(|plan| plan.full_scans().is_empty()), "{plans:#?}");
    let ends_grants = |plan: &&QueryPlan| plan.sql.starts_with(r#"UPDATE "oauth_grant""#);
    let ended: Vec<&QueryPlan> = plans.iter().filter(ends_grants).collect();
    assert!(!ended.is_empty() && ended.iter().all(|plan| plan.has_step("oauth_token_grant")), "{plans:#?}");
}

#[tokio::test]
async fn code_is_kept_although_the_clock_was_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_714_996_800_000)));
    let ctx = new_context(&folder, &clock).await;
    let mut flow = AuthorizationFlow::new(&ctx, &clock).await;
    for _ in 0..consent::MAX_CODES {
        clock.advance(Duration::from_millis(1));
        flow.consent().await;
    }

    clock.set_back(Duration::from_secs(60));
    reconnect(&mut flow).await;

    assert_eq!(flow.valid_refresh_tokens().await, 1);
}

#[tokio::test]
async fn oldest_codes_and_tokens_are_found_by_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_714_996_800_000)));
    let mut ctx = new_context(&folder, &clock).await;
    let (unrecorded, sent) = (ctx.db.clone(), ctx.db.record_statements());
    let mut flow = AuthorizationFlow::new(&ctx, &clock).await;
    sent.take();

    reconnect(&mut flow).await;

    let plans = QueryPlan::of_each(&unrecorded, sent.take()).await.unwrap();
    for step in [
        "oauth_code_user_client (user_id=? AND client_id=? AND issued_at<?)",
        "oauth_token_grant (grant_id=? AND token_family<?)",
    ] {
        assert!(plans.iter().any(|plan| plan.has_step(step)), "no step {step}: {plans:#?}");
    }
    assert!(plans.iter().all(|plan| plan.full_scans().is_empty()), "{plans:#?}");
}

/// Covers the threat table (row O4).
#[test]
fn no_order_of_steps_leaves_two_valid_token_families() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_714_996_800_000)));
    let ctx = runtime.block_on(new_context(&folder, &clock));
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() });
    let actions = proptest::collection::vec(action(), 1..24);

    let found = runner.run(&actions, |actions| {
        runtime.block_on(async {
            let mut flow = AuthorizationFlow::new(&ctx, &clock).await;
            for action in &actions {
                flow.apply(action).await;
                let living = flow.valid_refresh_tokens().await;
                prop_assert!(living <= 1, "{living} token families live after {action:?}");
                let open = flow.accepted_families().await;
                prop_assert!(open <= 1, "{open} token families are open after {action:?}");
                let connected = flow.grant().await.is_some_and(|grant| grant.state == GrantState::Connected);
                prop_assert!(
                    connected || open + living == 0,
                    "something lives of what ended, after {action:?}"
                );
            }
            Ok(())
        })
    });

    assert!(found.is_ok(), "{}", found.unwrap_err());
}
