//! The threads that run the model: one for queries, the others for batches, so that a query never waits for a batch.
//!
//! Each thread is a separate pool, because the kernels split a product over all threads of their pool, and it is faster to embed
//! whole texts in parallel than to split products.

use concurrency::lower_thread_priority;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::BACKGROUND_NICE;

pub(super) struct WorkerPools {
    query: ThreadPool,
    batch: Vec<ThreadPool>,
}

impl WorkerPools {
    /// Starts `count` threads for batches (at least one) and one for queries.
    pub(super) fn new(count: usize) -> Result<Self, ThreadPoolBuildError> {
        let batch = (0..count.max(1)).map(|number| {
            single_thread_pool(format!("embed-{number}"))
                .start_handler(|_| lower_thread_priority(BACKGROUND_NICE))
                .build()
        });
        Ok(Self {
            // At normal priority: a user waits for a query.
            query: single_thread_pool("embed-query".to_owned()).build()?,
            batch: batch.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the number of threads for batches.
    pub(super) fn count(&self) -> usize {
        self.batch.len()
    }

    /// Runs `work` in the pool for queries.
    pub(super) fn query<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.query.install(work)
    }

    /// Runs `work` in all pools for batches in parallel and waits until all have finished.
    pub(super) fn batch(&self, work: impl Fn() + Sync) {
        run_in_all(&self.batch, &work);
    }
}

fn run_in_all(pools: &[ThreadPool], work: &(impl Fn() + Sync)) {
    if let [pool, others @ ..] = pools {
        // A scope spawns into one pool only, so there is a nested scope for each. Each waits for its own thread, which borrows `work`.
        pool.in_place_scope(|scope| {
            scope.spawn(|_| work());
            run_in_all(others, work);
        });
    }
}

fn single_thread_pool(name: String) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(1).thread_name(move |_| name.clone())
}
