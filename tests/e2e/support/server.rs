//! A service in this process, by a clock that stands until the test moves it.

use std::sync::Arc;

use actors::auth::accounts::{self, NewAccount};
use actors::context::App;
use library::clock::TestClock;
use carrel::server::{Outside, Running, start_with};
use carrel::settings::Settings;
use entity::plan::Plan;
use entity::time::Timestamp;
use sandbox::{SUBCOMMAND, SandboxCommand};
use uuid::Uuid;

use super::client::Client;
use super::service_home::Home;
use super::user::{PASSWORD, User};

/// When every service begins: 2024-05-06T12:00:00Z.
pub const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

/// See the file's head.
pub struct Server {
    pub clock: Arc<TestClock>,
    running: Running,
    home: Home,
}

impl Server {
    /// With the built-in settings.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// With these settings over the built-in ones, such as `("PLANS__PRO__REST_PER_DAY", "5")`.
    pub async fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_in(Home::new().await, Arc::new(TestClock::at(NOON)), settings).await
    }

    /// Where another one was before.
    pub async fn start_in(home: Home, clock: Arc<TestClock>, settings: &[(&str, &str)]) -> Self {
        // The index of the one before is still open in this process: each has one of its own.
        let index = Uuid::now_v7().to_string();
        let own = settings.iter().map(|(name, value)| (format!("CARREL__{name}"), (*value).to_owned()));
        let settings = Settings::load(None, home.settings(&index).into_iter().chain(own)).unwrap();
        let program = env!("CARGO_BIN_EXE_carrel").into();
        let outside = Outside { sandbox: SandboxCommand { program, args: vec![SUBCOMMAND.into()] } };
        let running = start_with(settings, clock.clone(), outside).await.unwrap();
        Self { clock, running, home }
    }

    /// Stops it in order; what it left behind, and its clock.
    pub async fn stop(self) -> (Home, Arc<TestClock>) {
        self.running.stop().await;
        (self.home, self.clock)
    }

    /// Of its rows, for another node.
    pub fn database_url(&self) -> String {
        self.home.database_url()
    }

    /// Where it keeps everything.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The service behind the wire.
    pub fn app(&self) -> &App {
        self.running.app()
    }

    /// Someone who presents nothing.
    pub fn anonymous(&self) -> Client {
        Client::new(&format!("http://{}", self.running.address))
    }

    /// Somebody new.
    pub async fn user(&self, plan: Plan) -> User<'_> {
        let email = format!("{}@reader.example", Uuid::now_v7().simple());
        let new = NewAccount { email, name: None, password: PASSWORD.to_owned(), plan };
        User::of(self, accounts::create(self.app(), new).await.unwrap())
    }
}
