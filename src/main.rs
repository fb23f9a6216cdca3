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
    // Whatever the server writes is for its owner alone.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    carrel::cli::run()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use tikv_jemalloc_ctl::thread::allocatedp;

    /// The allocator of the C library keeps memory after a load (tests/bench/memory_load.py).
    #[test]
    fn jemalloc_serves_the_allocations_of_the_program() {
        const BYTES: usize = 1 << 20;
        // What jemalloc has given to this thread so far.
        let allocated = allocatedp::read().unwrap();
        let before = allocated.get();

        let block = black_box(vec![1_u8; BYTES]);

        assert!(allocated.get() - before >= BYTES as u64);
        drop(block);
    }
}
