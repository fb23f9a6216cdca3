//! The program `carrel`.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    // A child that parses foreign bytes gives up its rights before anything else runs, and while it has one thread.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == sandbox::SUBCOMMAND) {
        return sandbox::child::run();
    }
    // Whatever the service writes is for its owner alone.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    carrel::cli::run()
}
