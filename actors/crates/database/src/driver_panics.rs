//! Counts the panics of the driver's threads. The driver gives each connection to SQLite a thread, which panics when there is no memory
//! to copy a value. The statement that it runs then ends without an error and without the rows that were not sent: no row looks like a
//! row that does not exist. So each statement during which a thread panicked counts as failed.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use sea_orm::DbErr;

use super::fault::connection_ended;

/// How the driver names the threads of its connections.
const THREAD_NAME: &str = "sqlx-sqlite-worker-";

/// The number of panics of the driver's threads.
#[derive(Debug, Default)]
pub(super) struct DriverPanics(Arc<AtomicU64>);

impl DriverPanics {
    /// Counts the panics from now on, for as long as the process lives. The hook that was set before is called too.
    pub(super) fn watch(&self) {
        let counted = self.0.clone();
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().name().is_some_and(|name| name.starts_with(THREAD_NAME)) {
                // The hook runs before the thread gives up the statement, so its caller sees the count.
                counted.fetch_add(1, Ordering::SeqCst);
            }
            previous(info);
        }));
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// Those of the statement, and [`StorageFault::OutOfMemory`](super::StorageFault::OutOfMemory) when a thread of the driver panicked
    /// meanwhile, whether it ran this statement or another one.
    pub(super) async fn checked<T>(
        &self,
        statement: impl Future<Output = Result<T, DbErr>> + Send,
    ) -> Result<T, DbErr> {
        let before = self.0.load(Ordering::SeqCst);
        let result = statement.await;
        if self.0.load(Ordering::SeqCst) == before { result } else { result.and(Err(connection_ended())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::StorageFault;

    fn panic_on_thread(name: &str) {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(|| panic!("no memory")).unwrap();
        thread.join().unwrap_err();
    }

    #[tokio::test]
    async fn statement_fails_when_a_thread_of_the_driver_panics() {
        let panics = DriverPanics::default();
        panics.watch();

        let undisturbed = panics.checked(async {
            panic_on_thread("other");
            Ok(())
        });
        undisturbed.await.unwrap();
        let cut_off = panics.checked(async {
            panic_on_thread("sqlx-sqlite-worker-7");
            Ok(None::<i64>)
        });
        let error = cut_off.await.unwrap_err();

        assert_eq!(StorageFault::of(&error), Some(StorageFault::OutOfMemory));
        panics.checked(async { Ok(()) }).await.unwrap();
    }
}
