//! A server in this process, with a clock that only the test moves.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use actors::auth::accounts::{self, NewAccount};
use actors::context::OperationContext;
use actors::service::Service;
use carrel::server::{Overrides, RunningService, start_with};
use carrel::settings::Settings;
use database::{Db, StatementLog};
use entity::document;
use library::clock::TestClock;
use sandbox::{SUBCOMMAND, SandboxCommand};
use sea_orm::{ColumnTrait, QueryFilter};
use serde_json::Value;
use uuid::Uuid;
use values::id::{DocumentId, UserId};
use values::plan::Plan;
use values::time::Timestamp;

use super::client::Client;
use super::eventually;
use super::service_home::Home;
use super::statement_plans::SentStatements;
use super::user::{PASSWORD, User};

/// The initial time of every server: 2024-05-06T12:00:00Z.
pub const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

/// A running server with its clock and its home. Its end tests the statements that it has sent ([`super::statement_plans`]).
pub struct Server {
    pub clock: Arc<TestClock>,
    /// Before the home, whose drop removes the database of PostgreSQL.
    sent: SentStatements,
    /// Boxed, as the context is: a test moves its server a few times, and its stack is small.
    running: Box<RunningService>,
    /// The context of the server, with a database that does not record: tests read rows through it as the server never does.
    context: Box<OperationContext>,
    home: Home,
}

impl Server {
    /// Starts a server with the default settings.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts a server with these settings over the default ones, such as `("PLANS__PRO__REST_PER_DAY", "5")`.
    pub async fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_in(Home::new().await, Arc::new(TestClock::at(NOON)), settings).await
    }

    /// Starts a server with the default settings, and also records each statement that it sends, from its start on. Also returns its
    /// database, through which nothing is recorded.
    pub async fn start_recording() -> (Self, Db, StatementLog) {
        let log = StatementLog::default();
        let clock = Arc::new(TestClock::at(NOON));
        let server = Box::pin(Self::start_on(Home::new().await, clock, &[], Some(log.clone()))).await;
        let db = server.context.core.db.clone();
        (server, db, log)
    }

    /// Starts a server in an existing home.
    pub async fn start_in(home: Home, clock: Arc<TestClock>, settings: &[(&str, &str)]) -> Self {
        // The future is large, and a test that starts several servers would have all of them on its stack.
        Box::pin(Self::start_on(home, clock, settings, None)).await
    }

    async fn start_on(
        home: Home,
        clock: Arc<TestClock>,
        settings: &[(&str, &str)],
        log: Option<StatementLog>,
    ) -> Self {
        // The index of a stopped server is still open in this process, and a second one cannot open the same folder. So each server
        // has its own data folder, even in the same home.
        let index = Uuid::now_v7().to_string();
        let own = settings.iter().map(|(name, value)| (format!("CARREL__{name}"), (*value).to_owned()));
        let settings = Settings::load(None, home.settings(&index).into_iter().chain(own)).unwrap();
        let program = env!("CARGO_BIN_EXE_carrel").into();
        let sent = SentStatements::to(&home);
        let (distinct, unrecorded) = (sent.distinct().clone(), Rc::new(OnceCell::new()));
        let opened = unrecorded.clone();
        let record = move |db: &mut Db| {
            let _ = opened.set(db.clone());
            db.call_with_statements(move |statement| {
                distinct.add(statement);
                if let Some(log) = &log {
                    log.push(statement);
                }
            });
        };
        let overrides = Overrides {
            sandbox: SandboxCommand { program, args: vec![SUBCOMMAND.into()] },
            change_database: Some(Box::new(record)),
        };
        let running = Box::new(Box::pin(start_with(settings, clock.clone(), overrides)).await.unwrap());
        let mut context = Box::new(running.context().clone());
        let db: &Db = unrecorded.get().unwrap();
        (context.core.db, context.core.accounts_db) = (db.clone(), db.for_accounts());
        Self { clock, sent, running, context, home }
    }

    /// Shuts the server down and returns its home and its clock.
    pub async fn stop(self) -> (Home, Arc<TestClock>) {
        let Self { clock, sent, running, context, home } = self;
        drop(context);
        running.stop().await;
        // Now they include those of the stop.
        drop(sent);
        (home, clock)
    }

    pub fn database_url(&self) -> String {
        self.home.database_url()
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The application behind the HTTP server.
    pub fn service(&self) -> &Service {
        self.running.service()
    }

    /// The context of operations. What is sent through its database itself, and not through that of one of its parts, is not recorded.
    pub fn context(&self) -> &OperationContext {
        &self.context
    }

    /// Crashes the actor of the worker, and waits until another one runs. That one claims jobs, even if the former one was stopped.
    pub async fn restart_worker(&self) {
        let worker = self.service().worker.port();
        let restarts = worker.health().report().restarts;
        worker.crash();
        // Until then a stop of the worker may meet the actor that crashes, and have no effect on the next one.
        eventually("another actor of the worker runs", async || {
            let report = worker.health().report();
            (report.up && report.restarts > restarts).then_some(())
        })
        .await;
    }

    /// Returns the row of a document, also of a deleted one. `shown` is what an interface shows of it or of its bookmark.
    pub async fn document_row(&self, owner: UserId, shown: &Value) -> document::Model {
        let id: DocumentId = shown["documentId"].as_str().unwrap().parse().unwrap();
        let own = document::Entity::with_hidden(owner).filter(document::Column::Id.eq(id));
        own.one(self.context().core.db.read()).await.unwrap().unwrap()
    }

    /// Waits until the index has the present state of a document, so that searches do not read it from the database any more. Returns its
    /// row.
    pub async fn wait_until_indexed(&self, owner: UserId, shown: &Value) -> document::Model {
        eventually("the index has the present state of a document", async || {
            let row = self.document_row(owner, shown).await;
            row.unindexed_since.is_none().then_some(row)
        })
        .await
    }

    /// Returns a client without credentials.
    pub fn anonymous(&self) -> Client {
        Client::new(&format!("http://{}", self.running.address))
    }

    /// Creates a user with this plan.
    pub async fn user(&self, plan: Plan) -> User<'_> {
        let email = format!("{}@reader.example", Uuid::now_v7().simple());
        let new = NewAccount { email, name: None, password: PASSWORD.to_owned(), plan };
        User::of(self, accounts::create(&self.context().core, new).await.unwrap())
    }
}
