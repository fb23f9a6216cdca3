//! The `carrel` program as a child process.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use values::plan::Plan;
use values::scope::Scope;

use super::client::Client;
use super::eventually;
use super::service_home::Home;
use super::user::Key;

pub use super::user::PASSWORD;

/// The e-mail address of the account that [`create_account`] creates.
pub const EMAIL: &str = "reader@reader.example";

/// Returns a free address. Its port is below the ephemeral ports, because the system could give one of those to a client before
/// the program listens there, also while the program restarts.
fn free_address() -> SocketAddr {
    const FIRST_PORT: u16 = 10_000;
    const PORTS: u32 = 20_000;
    static TRIED_PORTS: AtomicU32 = AtomicU32::new(0);
    // Each test has its own process, so the process id separates the ranges of parallel tests: 61 ports for each.
    let first = std::process::id().wrapping_mul(61);
    loop {
        let offset = first.wrapping_add(TRIED_PORTS.fetch_add(1, Ordering::Relaxed)) % PORTS;
        let address = SocketAddr::from(([127, 0, 0, 1], FIRST_PORT + u16::try_from(offset).unwrap()));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

/// A running server; it is killed on drop.
pub struct Program {
    child: Child,
    base: String,
    log: PathBuf,
}

impl Program {
    /// Starts a server and waits until it is ready.
    pub async fn start(home: &Home, name: &str) -> Self {
        let mut started = Self::launch(home, name);
        started.wait_until_ready().await;
        started
    }

    /// Starts a server without waiting until it is ready.
    pub fn launch(home: &Home, name: &str) -> Self {
        Self::launch_with(home, name, &[])
    }

    /// Starts a server with this base URL and waits until it is ready.
    pub async fn start_with_base_url(home: &Home, name: &str, base_url: &str) -> Self {
        Self::start_with(home, name, &[("SERVER__BASE_URL", base_url)]).await
    }

    /// Starts a server with these settings over those of the home, and waits until it is ready.
    pub async fn start_with(home: &Home, name: &str, settings: &[(&str, &str)]) -> Self {
        let mut started = Self::launch_with(home, name, settings);
        started.wait_until_ready().await;
        started
    }

    /// Starts a server with these settings that trusts the certificates of a file instead of those of the system, and waits until it is
    /// ready.
    pub async fn start_trusting(home: &Home, name: &str, ca: &Path, settings: &[(&str, &str)]) -> Self {
        let mut command = serve_command(command(home, name), settings);
        command.env("SSL_CERT_FILE", ca);
        let log = home.path(&format!("{name}.log"));
        let mut started = Self::spawn(home, name, command, log_file(&log));
        started.wait_until_ready().await;
        started
    }

    fn launch_with(home: &Home, name: &str, settings: &[(&str, &str)]) -> Self {
        let log = home.path(&format!("{name}.log"));
        Self::spawn(home, name, serve_command(command(home, name), settings), log_file(&log))
    }

    /// Starts a server whose stderr is a pipe that is not read while it runs, and waits until it is ready.
    pub async fn start_with_unread_stderr(home: &Home, name: &str, settings: &[(&str, &str)]) -> Self {
        let mut started =
            Self::spawn(home, name, serve_command(command(home, name), settings), Stdio::piped());
        started.wait_until_ready().await;
        started
    }

    /// Starts a server with these settings and a limit of open files, and waits until it is ready.
    pub async fn start_with_max_files(
        home: &Home,
        name: &str,
        max_files: usize,
        settings: &[(&str, &str)],
    ) -> Self {
        // The shell sets the limit and then becomes the server, so that signals reach the server itself.
        let mut command = Command::new("/bin/sh");
        command.env_clear().envs(home.settings(name)).current_dir(home.folder());
        command.envs(settings.iter().map(|(name, value)| (format!("CARREL__{name}"), value)));
        let script = format!("ulimit -n {max_files} && exec \"$0\" serve");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_carrel")]);
        let log = home.path(&format!("{name}.log"));
        let mut started = Self::spawn(home, name, command, log_file(&log));
        started.wait_until_ready().await;
        started
    }

    fn spawn(home: &Home, name: &str, mut command: Command, stderr: Stdio) -> Self {
        let free = free_address();
        let log = home.path(&format!("{name}.log"));
        command.env("CARREL__SERVER__LISTEN", free.to_string());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
        Self { child, base: format!("http://{free}"), log }
    }

    /// Waits until the server accepts requests.
    pub async fn wait_until_ready(&mut self) {
        let anonymous = self.anonymous();
        eventually("the program is ready", async || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {}", std::fs::read_to_string(&self.log).unwrap_or_default());
            let answer = anonymous.try_send(reqwest::Method::GET, "/readyz", None).await;
            answer.is_ok_and(|answer| answer.status == 200).then_some(())
        })
        .await;
    }

    /// The address that the server listens on.
    pub fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    /// Returns a client without credentials.
    pub fn anonymous(&self) -> Client {
        Client::new(&self.base)
    }

    /// Runs a subcommand that knows the address of this server, and returns its JSON output.
    pub fn run_command(&self, home: &Home, args: &[&str]) -> Value {
        self.run_command_with_input(home, args, "")
    }

    /// Does the same with this text on the standard input.
    pub fn run_command_with_input(&self, home: &Home, args: &[&str], input: &str) -> Value {
        let mut command = command(home, "data");
        command.env("CARREL__SERVER__LISTEN", self.base.trim_start_matches("http://"));
        json_output(command, args, input)
    }

    /// Runs a subcommand without `--json` that knows the address of this server, and returns its output.
    pub fn command_output(&self, home: &Home, args: &[&str], input: &str) -> CommandOutput {
        let mut command = command(home, "data");
        command.env("CARREL__SERVER__LISTEN", self.base.trim_start_matches("http://"));
        output(command.args(args), input)
    }

    /// The names of the threads that the process has at the moment.
    pub fn thread_names(&self) -> Vec<String> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        // A thread may end meanwhile.
        let names =
            threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
        names.map(|name| name.trim_end().to_owned()).collect()
    }

    /// The log of this process.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Runs a subcommand with the data of another home, kills it once a line with these words is on stderr, and returns the line.
    pub fn run_until_printed(&self, home: &Home, args: &[&str], words: &str) -> String {
        let mut command = command(home, "data");
        command.env("CARREL__SERVER__LISTEN", self.base.trim_start_matches("http://"));
        let piped = command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let printed = lines.map_while(Result::ok).find(|line| line.contains(words));
        child.kill().unwrap();
        child.wait().unwrap();
        printed.unwrap_or_else(|| panic!("{args:?} ended without printing {words:?}"))
    }

    /// Returns a client that sends this key.
    pub fn client_with_key(&self, id: &str, secret: &str) -> Key {
        Key::new(id, self.anonymous().with_key(secret))
    }

    /// Sends SIGKILL and waits for the end of the process.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM and returns the exit status.
    pub async fn terminate(mut self) -> ExitStatus {
        self.terminate_and_wait().await
    }

    /// Sends SIGTERM to a server of [`Self::start_with_unread_stderr`]. Returns the exit status and the content of the pipe.
    pub async fn terminate_and_read_stderr(mut self) -> (ExitStatus, String) {
        let status = self.terminate_and_wait().await;
        let mut content = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut content).unwrap();
        (status, content)
    }

    /// Closes the reading end of the pipe of [`Self::start_with_unread_stderr`].
    pub fn close_stderr(&mut self) {
        drop(self.child.stderr.take());
    }

    async fn terminate_and_wait(&mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        eventually("the program ends", async || self.child.try_wait().unwrap()).await
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The `serve` command with these settings.
fn serve_command(mut command: Command, settings: &[(&str, &str)]) -> Command {
    command.arg("serve").envs(settings.iter().map(|(name, value)| (format!("CARREL__{name}"), value)));
    command
}

/// Opens the log to append: a restarted server continues the log of its predecessor.
fn log_file(log: &Path) -> Stdio {
    File::options().create(true).append(true).open(log).unwrap().into()
}

/// Creates the account of [`EMAIL`] and a key with all scopes. Returns the key's id and secret.
pub fn create_account(home: &Home) -> (String, String) {
    create_account_with_email(home, EMAIL)
}

/// Creates an account with this e-mail address and a key with all scopes. Returns the key's id and secret.
pub fn create_account_with_email(home: &Home, email: &str) -> (String, String) {
    let plan = Plan::Research.to_string();
    run_command(home, &["user", "add", "--email", email, "--plan", &plan, "--password-stdin"], PASSWORD);
    let mut args = vec!["key", "create", "--user", email, "--kind", "rest", "--name", "all"];
    for scope in Scope::ALL.iter().filter(|scope| **scope != Scope::Mcp) {
        args.extend(["--scope", scope.name()]);
    }
    let created = run_command(home, &args, "");
    (created["id"].as_str().unwrap().to_owned(), created["secret"].as_str().unwrap().to_owned())
}

/// Runs a subcommand and returns its JSON output.
pub fn run_command(home: &Home, args: &[&str], input: &str) -> Value {
    json_output(command(home, "data"), args, input)
}

/// The exit code and the output of a subcommand.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Starts a subcommand with these settings over those of the home, and does not wait for its end.
pub fn spawn_command(home: &Home, args: &[&str], settings: &[(&str, &str)]) -> Child {
    let mut command = command(home, "data");
    command.envs(settings.iter().map(|(name, value)| (format!("CARREL__{name}"), value)));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Runs a subcommand without `--json`, with these settings over those of the home.
pub fn command_output(home: &Home, args: &[&str], input: &str, settings: &[(&str, &str)]) -> CommandOutput {
    let mut command = command(home, "data");
    command.envs(settings.iter().map(|(name, value)| (format!("CARREL__{name}"), value)));
    output(command.args(args), input)
}

/// Runs a subcommand on a terminal with this input. Both output streams are in `stdout`.
pub fn command_output_on_terminal(home: &Home, args: &[&str], typed: &str) -> CommandOutput {
    let mut command = Command::new("/usr/bin/script");
    command.env_clear().envs(home.settings("data")).current_dir(home.folder());
    let line = format!("{} {}", env!("CARGO_BIN_EXE_carrel"), args.join(" "));
    output(command.args(["--quiet", "--return", "--command", &line, "/dev/null"]), typed)
}

fn output(command: &mut Command, input: &str) -> CommandOutput {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // A command that fails before it reads its input has closed the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandOutput { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn json_output(mut command: Command, args: &[&str], input: &str) -> Value {
    let output = output(command.args(args).arg("--json"), input);
    assert_eq!(output.code, Some(0), "{args:?}: {}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

fn command(home: &Home, name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carrel"));
    // The hourly limit would otherwise end tests that poll often, because requests of their key count towards it.
    command.env_clear().envs(home.settings(name)).env("CARREL__PLANS__RESEARCH__HOURLY_PER_KEY", "1000000");
    command.current_dir(home.folder());
    command
}
