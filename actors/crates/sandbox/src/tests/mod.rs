//! The sandbox with real children: this test binary, started once more for [`a_child`] alone.

mod pdf;

use std::{
    env,
    fs::{self, File},
    io::Write,
    net::{TcpStream, UdpSocket},
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    process::abort,
    time::{Duration, Instant},
};

use parse::html::{Article, ArticleError};

use super::{
    Mechanism, Page, Sandbox, SandboxCommand, SandboxError, SandboxSettings,
    child::{self, NICE_INCREMENT},
    wire::{Task, TaskResponse},
};

/// An argument of the child, which the test runner takes for the name of a test to skip.
const CHILD_ARGUMENT: &str = "parse-worker-of-a-test";

/// Not a test: the process that the other tests start.
#[test]
fn a_child() {
    if env::args().any(|argument| argument == CHILD_ARGUMENT) {
        child::serve(misbehave);
    }
}

/// Performs tasks like a real child, except for URLs that request misbehaviour.
fn misbehave(task: Task, bytes: Vec<u8>) -> (TaskResponse, Vec<u8>) {
    let Task::Article { url, .. } = &task else { return child::perform(task, bytes) };
    match url.as_str() {
        "probe:hang" => loop {
            std::hint::spin_loop();
        },
        "probe:sleep" => loop {
            std::thread::park();
        },
        "probe:noise" => loop {
            let _ = std::io::stderr().write_all(&[b'x'; 4096]);
            let _ = std::io::stdout().write_all(&[b'x'; 4096]);
        },
        "probe:memory" => (TaskResponse::TooLarge, std::hint::black_box(vec![b'x'; 4 << 30])),
        "probe:abort" => abort(),
        // As the kernel does when memory is short.
        "probe:kill" => {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
            unreachable!("it is dead")
        }
        "probe:panic" => panic!("a parser gave up"),
        "probe:stack" => (TaskResponse::TooLarge, descend(0).to_string().into_bytes()),
        "probe:flood" => (child::perform(task, bytes).0, vec![b'x'; 3 << 20]),
        "probe:priority" => {
            let nice = rustix::process::getpriority_process(None).unwrap();
            (
                TaskResponse::Article(Box::new(Article {
                    description: Some(nice.to_string()),
                    ..Article::default()
                })),
                Vec::new(),
            )
        }
        "probe:reach" => (TaskResponse::Article(Box::new(list_reachable())), Vec::new()),
        _ => child::perform(task, bytes),
    }
}

/// Recurses until the stack overflows, whatever its size.
fn descend(depth: u64) -> u64 {
    if std::hint::black_box(depth) == u64::MAX { 0 } else { std::hint::black_box(descend(depth + 1)) + 1 }
}

/// Tries what a confined child must not be able to do, and names in the description each attempt that succeeds.
fn list_reachable() -> Article {
    let mut reached = Vec::new();
    if File::open("/etc/passwd").is_ok() || fs::read_dir("/").is_ok() {
        reached.push("files");
    }
    if TcpStream::connect("127.0.0.1:1").is_err_and(|refused| refused.raw_os_error() != Some(13)) {
        reached.push("tcp");
    }
    if UdpSocket::bind("127.0.0.1:0").is_ok() || UnixDatagram::unbound().is_ok() {
        reached.push("sockets");
    }
    if std::process::Command::new("/bin/true").spawn().is_ok() {
        reached.push("programs");
    }
    if env::vars_os().next().is_some() {
        reached.push("environment");
    }
    Article { description: Some(reached.join(" ")), ..Article::default() }
}

pub(super) fn command() -> SandboxCommand {
    let (_, path) = module_path!().split_once("::").unwrap();
    let name = format!("{path}::a_child");
    let args = ["--exact", &name, "--nocapture", "--test-threads=1", "--skip", CHILD_ARGUMENT];
    SandboxCommand { program: env::current_exe().unwrap(), args: args.map(Into::into).to_vec() }
}

fn settings() -> SandboxSettings {
    SandboxSettings {
        children: 2,
        wall_time: Duration::from_secs(60),
        output_bytes: 2 << 20,
        idle_timeout: Duration::from_secs(600),
        ..SandboxSettings::default()
    }
}

pub(super) fn sandbox() -> Sandbox {
    sandbox_with(settings())
}

pub(super) fn sandbox_with(settings: SandboxSettings) -> Sandbox {
    Sandbox::new(command(), settings)
}

/// Time enough for a page on a busy machine.
const SHORT_WALL_TIME: Duration = Duration::from_secs(8);

fn sandbox_with_short_wall_time() -> Sandbox {
    Sandbox::new(command(), SandboxSettings { children: 3, wall_time: SHORT_WALL_TIME, ..settings() })
}

fn page(url: &str) -> Page {
    let prose = "<p>The heron stands still in the water for an hour, waiting.</p>".repeat(9);
    Page {
        html: format!(
            "<html><head><title>Patience</title></head><body><article>{prose}</article></body></html>"
        ),
        url: url.to_owned(),
        user_title: None,
    }
}

async fn assert_reads_page(sandbox: &Sandbox) {
    let article = sandbox.read_article(page("https://example.org/heron")).await.unwrap();

    assert_eq!(article.title.as_deref(), Some("Patience"));
    assert!(article.text.starts_with("The heron stands still"));
}

#[tokio::test]
async fn page_is_read_as_its_article() {
    assert_reads_page(&sandbox()).await;
}

#[tokio::test]
async fn one_child_reads_several_pages() {
    let sandbox = sandbox();

    for _ in 0..5 {
        assert_reads_page(&sandbox).await;
    }

    assert_eq!(sandbox.idle_count(), 1);
}

/// Covers the fault table (row 31).
#[tokio::test]
async fn child_runs_at_a_lower_priority() {
    let normal = rustix::process::getpriority_process(None).unwrap();

    let article = sandbox().read_article(page("probe:priority")).await.unwrap();

    assert_eq!(article.description, Some((normal + NICE_INCREMENT).to_string()));
}

/// Covers the fault table (row 35).
#[tokio::test]
async fn hanging_child_is_killed_and_the_next_page_is_read() {
    let sandbox = sandbox_with_short_wall_time();
    assert_reads_page(&sandbox).await;

    let began = Instant::now();
    let urls = ["probe:hang", "probe:sleep", "probe:noise"];
    let results = futures_util::future::join_all(urls.map(|url| sandbox.read_article(page(url)))).await;

    for (url, result) in urls.iter().zip(results) {
        assert!(matches!(result, Err(SandboxError::TimedOut)), "{url}: {result:?}");
    }
    assert!(began.elapsed() < 5 * SHORT_WALL_TIME);
    assert_reads_page(&sandbox).await;
}

/// Covers the fault table (row 35).
#[tokio::test]
async fn each_job_has_its_own_processor_time_limit() {
    let sandbox = Sandbox::new(command(), SandboxSettings { cpu_seconds: 1, ..settings() });

    let result = sandbox.read_article(page("probe:hang")).await;

    assert!(matches!(result, Err(SandboxError::TimedOut)), "{result:?}");
    assert_reads_page(&sandbox).await;
}

/// Covers the fault table (row 35).
#[tokio::test]
async fn crash_fails_one_job_only() {
    let sandbox = sandbox();

    for url in ["probe:abort", "probe:panic", "probe:stack"] {
        let (result, _) = tokio::join!(sandbox.read_article(page(url)), assert_reads_page(&sandbox));
        assert!(matches!(result, Err(SandboxError::Crashed)), "{url}: {result:?}");
        assert_reads_page(&sandbox).await;
    }
}

/// Covers the fault table (rows 35, 38).
#[tokio::test]
async fn memory_over_the_limit_fails_one_job_only() {
    let sandbox = sandbox();

    for url in ["probe:memory", "probe:kill"] {
        let (result, _) = tokio::join!(sandbox.read_article(page(url)), assert_reads_page(&sandbox));
        assert!(matches!(result, Err(SandboxError::OutOfMemory)), "{url}: {result:?}");
        assert_reads_page(&sandbox).await;
    }
}

#[tokio::test]
async fn error_states_why_reading_ended() {
    let (sandbox, brief) =
        (sandbox(), Sandbox::new(command(), SandboxSettings { wall_time: SHORT_WALL_TIME, ..settings() }));

    for (sandbox, url, reason) in [
        (&sandbox, "probe:abort", "the process that read the file crashed"),
        (&sandbox, "probe:panic", "the process that read the file crashed"),
        (&sandbox, "probe:memory", "reading the file needed more memory than is allowed, so it was stopped"),
        (&sandbox, "probe:flood", "the file is too large to be read"),
        (&brief, "probe:sleep", "reading the file took longer than is allowed, so it was stopped"),
    ] {
        let result = sandbox.read_article(page(url)).await;

        assert_eq!(result.unwrap_err().to_string(), reason, "{url}");
    }
}

#[tokio::test]
async fn dropped_job_ends_its_child() {
    let sandbox = Sandbox::new(command(), SandboxSettings { children: 1, ..settings() });

    let dropped =
        tokio::time::timeout(Duration::from_millis(200), sandbox.read_article(page("probe:sleep"))).await;

    assert!(dropped.is_err());
    assert_reads_page(&sandbox).await;
}

#[tokio::test]
async fn text_over_the_limit_is_rejected() {
    let sandbox = sandbox();

    let refused = sandbox.read_article(page("probe:flood")).await;

    assert!(matches!(refused, Err(SandboxError::TooLarge)), "{refused:?}");
    assert_reads_page(&sandbox).await;
}

#[tokio::test]
async fn page_over_the_limit_is_not_sent() {
    let sandbox = Sandbox::new(command(), SandboxSettings { input_bytes: 100, ..settings() });

    let refused = sandbox.read_article(page("https://example.org/")).await;

    assert!(matches!(refused, Err(SandboxError::TooLarge)), "{refused:?}");
    assert_eq!(sandbox.idle_count(), 0);
}

#[tokio::test]
async fn twenty_concurrent_pages_share_two_children() {
    let sandbox = sandbox();

    futures_util::future::join_all((0..20).map(|_| assert_reads_page(&sandbox))).await;

    assert_eq!(sandbox.idle_count(), 2);
}

#[tokio::test]
async fn picture_does_not_wait_for_pages() {
    let sandbox = Sandbox::new(command(), SandboxSettings { children: 1, ..settings() });

    let read = tokio::select! {
        // In this order: the page has the child of pages before the picture is read.
        biased;
        page = sandbox.read_article(page("probe:sleep")) => panic!("the page was read: {page:?}"),
        read = sandbox.read_picture(b"no picture") => read,
    };

    assert!(matches!(read, Err(SandboxError::Picture(_))), "{read:?}");
}

/// Covers the threat table (row P6).
#[tokio::test]
async fn nested_element_bomb_is_rejected_immediately() {
    let bomb = Page {
        html: "<div>".repeat(1_000_000),
        url: "https://example.org/bomb".to_owned(),
        user_title: None,
    };
    let sandbox = sandbox_with_short_wall_time();

    let refused = sandbox.read_article(bomb).await;

    assert!(matches!(refused, Err(SandboxError::Article(ArticleError::TooDeep))), "{refused:?}");
}

#[tokio::test]
async fn idle_child_ends() {
    let sandbox = Sandbox::new(command(), SandboxSettings { idle_timeout: Duration::ZERO, ..settings() });
    assert_reads_page(&sandbox).await;

    while sandbox.idle_count() > 0 {
        tokio::task::yield_now().await;
    }

    assert_reads_page(&sandbox).await;
}

#[tokio::test]
async fn child_is_replaced_after_its_jobs() {
    let sandbox = Sandbox::new(command(), SandboxSettings { max_jobs: 1, ..settings() });

    assert_reads_page(&sandbox).await;

    assert_eq!(sandbox.idle_count(), 0);
}

/// Covers the threat table (row P1).
#[tokio::test]
async fn confined_child_reaches_nothing() {
    let sandbox = sandbox();
    let confinement = sandbox.confinement().await.unwrap();

    let reached = sandbox.read_article(page("probe:reach")).await.unwrap().description.unwrap();

    assert!(!reached.contains("environment"));
    assert_eq!(reached.contains("files"), confinement.missing.contains(&Mechanism::NoFiles));
    let sockets = confinement.missing.contains(&Mechanism::NoSockets);
    assert_eq!(reached.contains("tcp"), sockets && confinement.missing.contains(&Mechanism::NoTcp));
    assert_eq!(reached.contains("sockets"), sockets);
    assert!(sockets || !reached.contains("programs"));
    assert!(confinement.applied.contains(&Mechanism::Memory));
}

#[tokio::test]
async fn missing_program_is_unavailable() {
    let command = SandboxCommand { program: PathBuf::from("/nowhere/carrel"), args: Vec::new() };

    let result = Sandbox::new(command, settings()).read_article(page("https://example.org/")).await;

    assert!(matches!(result, Err(SandboxError::Unavailable(_))), "{result:?}");
}

#[tokio::test]
async fn other_program_is_unavailable() {
    let command = SandboxCommand { program: PathBuf::from("/bin/true"), args: Vec::new() };

    let result = Sandbox::new(command, settings()).read_article(page("https://example.org/")).await;

    assert!(matches!(result, Err(SandboxError::Unavailable(_))), "{result:?}");
}

/// Returns the files of a folder of the shared set; empty if the set is not next to the project.
pub fn shared(folder: &str) -> Vec<PathBuf> {
    let configured = env::var_os("CARREL_DATA").map(PathBuf::from);
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data");
    let Some(root) = configured.into_iter().chain([default]).find(|root| root.is_dir()) else {
        eprintln!("skipped: there is no folder ../shared/data next to the project");
        return Vec::new();
    };
    let mut files: Vec<_> =
        fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
