//! A server in this process, with a clock that only the test moves.

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
use super::user::{PASSWORD, User};

/// The initial time of every server: 2024-05-06T12:00:00Z.
pub const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

/// A running server with its clock and its home.
pub struct Server {
    pub clock: Arc<TestClock>,
    running: RunningService,
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

    /// Starts a server with the default settings, and records all statements that it sends from its start on. Also returns its
    /// database, through which nothing is recorded.
    pub async fn start_recording() -> (Self, Db, StatementLog) {
        let home = Home::new().await;
        let db = Db::open(&home.database_url()).await.unwrap();
        let mut recorded = db.clone();
        let sent = recorded.record_statements();
        let server = Self::start_on(home, Arc::new(TestClock::at(NOON)), &[], Some(recorded)).await;
        (server, db, sent)
    }

    /// Starts a server in an existing home.
    pub async fn start_in(home: Home, clock: Arc<TestClock>, settings: &[(&str, &str)]) -> Self {
        Self::start_on(home, clock, settings, None).await
    }

    async fn start_on(
        home: Home,
        clock: Arc<TestClock>,
        settings: &[(&str, &str)],
        database: Option<Db>,
    ) -> Self {
        // The index of a stopped server is still open in this process, and a second one cannot open the same folder. So each server
        // has its own data folder, even in the same home.
        let index = Uuid::now_v7().to_string();
        let own = settings.iter().map(|(name, value)| (format!("CARREL__{name}"), (*value).to_owned()));
        let settings = Settings::load(None, home.settings(&index).into_iter().chain(own)).unwrap();
        let program = env!("CARGO_BIN_EXE_carrel").into();
        let overrides =
            Overrides { sandbox: SandboxCommand { program, args: vec![SUBCOMMAND.into()] }, database };
        let running = start_with(settings, clock.clone(), overrides).await.unwrap();
        Self { clock, running, home }
    }

    /// Shuts the server down and returns its home and its clock.
    pub async fn stop(self) -> (Home, Arc<TestClock>) {
        self.running.stop().await;
        (self.home, self.clock)
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

    pub fn context(&self) -> &OperationContext {
        self.running.context()
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
