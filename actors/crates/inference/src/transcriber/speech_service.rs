//! The transcriber, lent to one recording at a time.

use std::sync::{Arc, PoisonError, RwLock};

use super::Transcriber;
use super::fair_mutex::{FairMutex, FairMutexGuard, Waiter};

/// Gives the transcriber, once there is one, to one recording at a time. `K` is the id of an account. Clones share it.
#[derive(Clone)]
pub struct SpeechService<K> {
    transcriber: Arc<RwLock<Option<Arc<dyn Transcriber>>>>,
    mutex: FairMutex<K>,
}

/// The permit to transcribe one recording. When it is dropped, the model is unloaded and the next recording gets the permit.
pub struct TranscriptionPermit<K> {
    /// The transcriber at the time when the permit was acquired.
    pub transcriber: Arc<dyn Transcriber>,
    _guard: FairMutexGuard<K>,
}

impl<K> Drop for TranscriptionPermit<K> {
    fn drop(&mut self) {
        self.transcriber.unload();
    }
}

impl<K: Copy + Eq> SpeechService<K> {
    /// Creates the service, with a transcriber if there is one already.
    pub fn new(transcriber: Option<Arc<dyn Transcriber>>) -> Self {
        Self { transcriber: Arc::new(RwLock::new(transcriber)), mutex: FairMutex::default() }
    }

    /// Returns the transcriber, if there is one.
    pub fn transcriber(&self) -> Option<Arc<dyn Transcriber>> {
        self.transcriber.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the transcriber for recordings that start from now on.
    pub fn set_transcriber(&self, transcriber: Arc<dyn Transcriber>) {
        *self.transcriber.write().unwrap_or_else(PoisonError::into_inner) = Some(transcriber);
    }

    /// Returns whether no recording is being transcribed.
    pub fn is_free(&self) -> bool {
        self.mutex.is_free()
    }

    /// Returns whether a waiting recording is more urgent than the one that has the permit, or as urgent and of another account.
    pub fn should_yield(&self, holder: Waiter<K>) -> bool {
        self.mutex.should_yield(holder)
    }

    /// Waits for the permit to transcribe a recording; `None` without a transcriber. More urgent recordings go first, and no
    /// account twice in a row while others wait.
    pub async fn acquire(&self, waiter: Waiter<K>) -> Option<TranscriptionPermit<K>> {
        self.transcriber()?;
        let guard = self.mutex.lock(waiter).await;
        // Read again, because another transcriber may have been set during the wait.
        Some(TranscriptionPermit { transcriber: self.transcriber()?, _guard: guard })
    }
}
