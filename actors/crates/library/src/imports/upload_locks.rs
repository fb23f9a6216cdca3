//! Files of imports come in one after another for each user: how many imports are under way is checked before a file comes,
//! and a file that comes is none of them yet.

use entity::id::UserId;
use runtime::KeyedWeakMap;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Whose file comes in. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Arriving(KeyedWeakMap<UserId, Mutex<()>>);

impl Arriving {
    /// Waits until no other file of this person comes in.
    pub async fn alone(&self, user: UserId) -> OwnedMutexGuard<()> {
        self.0.get_or_default(user).lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[actix::test]
    async fn of_each_person_one_comes_in() {
        let (arriving, user) = (Arriving::default(), |n| UserId(uuid::Uuid::from_u128(n)));

        let first = arriving.alone(user(1)).await;
        let mut second = Box::pin(arriving.alone(user(1)));
        assert!((&mut second).now_or_never().is_none());
        assert!(arriving.alone(user(2)).now_or_never().is_some());
        drop(first);
        assert!(second.now_or_never().is_some());
    }
}
