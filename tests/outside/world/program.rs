//! The real program as a process of its own.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use entity::plan::Plan;
use entity::scope::Scope;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::answer::Client;
use super::eventually;
use super::home::Home;
use super::person::Key;

pub use super::person::PASSWORD;

/// The address of the account that [`make_account`] makes.
pub const EMAIL: &str = "reader@reader.example";

/// A free address whose port is below those that the system gives to clients: it could give one of theirs away before the program
/// listens there, also while the program is restarted.
fn free_address() -> SocketAddr {
    const FIRST_PORT: u16 = 10_000;
    const PORTS: u32 = 20_000;
    static TRIED: AtomicU32 = AtomicU32::new(0);
    // Each test runs in a process of its own.
    let first = std::process::id().wrapping_mul(61);
    loop {
        let offset = first.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed)) % PORTS;
        let address = SocketAddr::from(([127, 0, 0, 1], FIRST_PORT + u16::try_from(offset).unwrap()));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

/// A service that runs; killed when it is dropped.
pub struct Program {
    child: Child,
    base: String,
    log: PathBuf,
}

impl Program {
    /// Starts it and waits until it is ready.
    pub async fn start(home: &Home, name: &str) -> Self {
        let mut started = Self::begin(home, name);
        started.ready().await;
        started
    }

    /// Starts it.
    pub fn begin(home: &Home, name: &str) -> Self {
        Self::begin_with(home, name, &[])
    }

    /// Starts it as one of those behind this address, and waits until it is ready.
    pub async fn start_under(home: &Home, name: &str, base_url: &str) -> Self {
        Self::start_with(home, name, &[("SERVER__BASE_URL", base_url)]).await
    }

    /// Starts it with these settings beside the home's, and waits until it is ready.
    pub async fn start_with(home: &Home, name: &str, settings: &[(&str, &str)]) -> Self {
        let mut started = Self::begin_with(home, name, settings);
        started.ready().await;
        started
    }

    fn begin_with(home: &Home, name: &str, settings: &[(&str, &str)]) -> Self {
        let log = home.path(&format!("{name}.log"));
        Self::spawn(home, name, settled(command(home, name), settings), log_file(&log))
    }

    /// Starts it with a pipe as its stderr that nobody reads while it runs, and waits until it is ready.
    pub async fn start_unread(home: &Home, name: &str, settings: &[(&str, &str)]) -> Self {
        let mut started = Self::spawn(home, name, settled(command(home, name), settings), Stdio::piped());
        started.ready().await;
        started
    }

    /// Starts it with these settings where it may have so many files open, and waits until it is ready.
    pub async fn start_with_files(
        home: &Home,
        name: &str,
        max_files: usize,
        settings: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new("/bin/sh");
        command.env_clear().envs(home.settings(name)).current_dir(home.folder());
        command.envs(settings.iter().map(|(name, value)| (format!("CARREL__{name}"), value)));
        let script = format!("ulimit -n {max_files} && exec \"$0\" serve");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_carrel")]);
        let log = home.path(&format!("{name}.log"));
        let mut started = Self::spawn(home, name, command, log_file(&log));
        started.ready().await;
        started
    }

    fn spawn(home: &Home, name: &str, mut command: Command, stderr: Stdio) -> Self {
        let free = free_address();
        let log = home.path(&format!("{name}.log"));
        command.env("CARREL__SERVER__LISTEN", free.to_string());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
        Self { child, base: format!("http://{free}"), log }
    }

    /// Waits until it takes requests.
    pub async fn ready(&mut self) {
        let stranger = self.stranger();
        eventually("the program is ready", async || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {}", std::fs::read_to_string(&self.log).unwrap_or_default());
            let answer = stranger.try_send(reqwest::Method::GET, "/readyz", None).await;
            answer.is_ok_and(|answer| answer.status == 200).then_some(())
        })
        .await;
    }

    /// Someone who presents nothing.
    pub fn stranger(&self) -> Client {
        Client::of(&self.base)
    }

    /// A subcommand that knows where this runs; what it says.
    pub fn beside(&self, home: &Home, args: &[&str]) -> Value {
        self.beside_with(home, args, "")
    }

    /// The same with this on its standard input.
    pub fn beside_with(&self, home: &Home, args: &[&str], input: &str) -> Value {
        let mut command = command(home, "data");
        command.env("CARREL__SERVER__LISTEN", self.base.trim_start_matches("http://"));
        said(command, args, input)
    }

    /// A subcommand that knows where this runs, without `--json`: how it ended, and what it printed.
    pub fn printed_beside(&self, home: &Home, args: &[&str], input: &str) -> CommandOutput {
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

    /// A subcommand with the data of another home, which is ended once it says this on stderr: that line.
    pub fn ended_at(&self, home: &Home, args: &[&str], words: &str) -> String {
        let mut command = command(home, "data");
        command.env("CARREL__SERVER__LISTEN", self.base.trim_start_matches("http://"));
        let piped = command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = lines.map_while(Result::ok).find(|line| line.contains(words));
        child.kill().unwrap();
        child.wait().unwrap();
        said.unwrap_or_else(|| panic!("{args:?} ended without saying {words:?}"))
    }

    /// Whoever holds this secret.
    pub fn holder(&self, id: &str, secret: &str) -> Key {
        Key::new(id, self.stranger().with_key(secret))
    }

    /// SIGKILL, here and now.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and how it ended.
    pub async fn terminate(mut self) -> ExitStatus {
        self.ended_by_term().await
    }

    /// SIGTERM to one of [`Self::start_unread`]: how it ended, and what its pipe holds.
    pub async fn terminate_unread(mut self) -> (ExitStatus, String) {
        let status = self.ended_by_term().await;
        let mut held = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut held).unwrap();
        (status, held)
    }

    /// Closes the pipe of [`Self::start_unread`].
    pub fn close_stderr(&mut self) {
        drop(self.child.stderr.take());
    }

    async fn ended_by_term(&mut self) -> ExitStatus {
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

/// `serve` with these settings.
fn settled(mut command: Command, settings: &[(&str, &str)]) -> Command {
    command.arg("serve").envs(settings.iter().map(|(name, value)| (format!("CARREL__{name}"), value)));
    command
}

fn log_file(log: &Path) -> Stdio {
    File::options().create(true).append(true).open(log).unwrap().into()
}

/// Makes the one account, and a key of it with all scopes; the key's id and secret.
pub fn make_account(home: &Home) -> (String, String) {
    make_account_of(home, EMAIL)
}

/// Makes an account with this e-mail address, and a key of it with all scopes; the key's id and secret.
pub fn make_account_of(home: &Home, email: &str) -> (String, String) {
    let plan = Plan::Research.to_string();
    run(home, &["user", "add", "--email", email, "--plan", &plan, "--password-stdin"], PASSWORD);
    let mut args = vec!["key", "create", "--user", email, "--kind", "rest", "--name", "all"];
    for scope in Scope::ALL.iter().filter(|scope| **scope != Scope::Mcp) {
        args.extend(["--scope", scope.name()]);
    }
    let made = run(home, &args, "");
    (made["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
}

/// A subcommand of the program, beside whatever runs; what it says.
pub fn run(home: &Home, args: &[&str], input: &str) -> Value {
    said(command(home, "data"), args, input)
}

/// How a subcommand ended, and what it printed.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A subcommand with these settings over the home's, without `--json`.
pub fn printed(home: &Home, args: &[&str], input: &str, settings: &[(&str, &str)]) -> CommandOutput {
    let mut command = command(home, "data");
    command.envs(settings.iter().map(|(name, value)| (format!("CARREL__{name}"), value)));
    output(command.args(args), input)
}

/// A subcommand on a terminal, on which this is typed. Its two streams are the terminal's.
pub fn printed_on_terminal(home: &Home, args: &[&str], typed: &str) -> CommandOutput {
    let mut command = Command::new("/usr/bin/script");
    command.env_clear().envs(home.settings("data")).current_dir(home.folder());
    let line = format!("{} {}", env!("CARGO_BIN_EXE_carrel"), args.join(" "));
    output(command.args(["--quiet", "--return", "--command", &line, "/dev/null"]), typed)
}

fn output(command: &mut Command, input: &str) -> CommandOutput {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // A command that fails before it reads has closed its end.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandOutput { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn said(mut command: Command, args: &[&str], input: &str) -> Value {
    let output = output(command.args(args).arg("--json"), input);
    assert_eq!(output.code, Some(0), "{args:?}: {}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

fn command(home: &Home, name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carrel"));
    command.env_clear().envs(home.settings(name)).env("CARREL__PLANS__RESEARCH__HOURLY_PER_KEY", "1000000");
    command.current_dir(home.folder());
    command
}
