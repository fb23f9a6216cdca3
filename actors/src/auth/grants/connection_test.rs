//! Connection tests: the server registers an OAuth client with itself to see whether an assistant could.
//!
//! One test runs at a time in each process, with a pause after it, however often users ask. Its client is recognised by a name that
//! cannot be guessed, and does not count as a registration from its IP address.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use entity::oauth_client;
use errors::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use values::id::ClientId;

use crate::auth::secret::Secret;

/// The next test starts no earlier than this after the end of one.
const MIN_PAUSE: Duration = Duration::from_secs(5);
const NONCE_PREFIX: &str = "cn_";

/// The tests of this process. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct ConnectionTests {
    slot: Arc<Semaphore>,
    current: Arc<Mutex<Option<TestClient>>>,
}

/// The client of the current test.
#[derive(Debug)]
struct TestClient {
    name: String,
    /// Its id, once it is registered.
    id: Option<ClientId>,
}

/// The right to run a test, until it is dropped.
#[derive(Debug)]
pub struct ConnectionTestLock {
    client_name: String,
    tests: ConnectionTests,
    permit: Option<OwnedSemaphorePermit>,
}

impl ConnectionTests {
    pub fn new() -> Self {
        Self { slot: Arc::new(Semaphore::new(1)), current: Arc::default() }
    }

    /// Starts a test, which ends when the lock is dropped.
    ///
    /// # Errors
    /// [`Error::Busy`] while another one runs, and during the pause after it.
    pub fn begin(&self) -> Result<ConnectionTestLock, Error> {
        let permit = self.slot.clone().try_acquire_owned().map_err(|_| Error::Busy(MIN_PAUSE))?;
        let nonce = Secret::new_token(NONCE_PREFIX).map_err(Error::internal)?;
        let client_name = format!("Connection test {}", nonce.expose());
        *self.current() = Some(TestClient { name: client_name.clone(), id: None });
        Ok(ConnectionTestLock { client_name, tests: self.clone(), permit: Some(permit) })
    }

    /// Returns whether a client of this name is that of the current test.
    pub fn is_client(&self, name: Option<&str>) -> bool {
        name.is_some() && self.current().as_ref().map(|client| client.name.as_str()) == name
    }

    /// Stores the id of a registered client if it is that of the current test, which removes the client even if the response with the
    /// id does not arrive.
    pub fn record(&self, registered: &oauth_client::Model) {
        if let Some(client) = self.current().as_mut()
            && registered.name.as_ref() == Some(&client.name)
        {
            client.id = Some(registered.id);
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<TestClient>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionTestLock {
    /// Returns the name under which the test must register its client. It contains a random token, so no other client has it.
    pub fn client_name(&self) -> &str {
        &self.client_name
    }

    /// Returns the client, if it was registered with this process.
    pub fn registered_client(&self) -> Option<ClientId> {
        self.tests.current().as_ref().and_then(|client| client.id)
    }
}

impl Drop for ConnectionTestLock {
    fn drop(&mut self) {
        *self.tests.current() = None;
        // The permit is released after the pause. `drop` cannot wait, so a task does.
        let permit = self.permit.take();
        tokio::spawn(async move {
            tokio::time::sleep(MIN_PAUSE).await;
            drop(permit);
        });
    }
}
