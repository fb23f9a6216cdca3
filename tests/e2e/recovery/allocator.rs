//! The allocator of the real program, which returns unused memory to the system even while no thread allocates.

use crate::support::{Home, Program, eventually};

/// How jemalloc names the threads that return unused memory. It has none unless they are switched on.
const BACKGROUND_THREAD: &str = "jemalloc_bg_thd";

#[actix_web::test]
async fn service_has_threads_that_return_unused_memory() {
    let home = Home::new().await;
    let running = Program::start(&home, "data").await;

    eventually("a thread of the allocator runs", async || {
        running.thread_names().iter().any(|name| name == BACKGROUND_THREAD).then_some(())
    })
    .await;
}
