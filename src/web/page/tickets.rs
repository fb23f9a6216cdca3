//! Tickets of forms. Those of forms that are answered with a secret are issued here, and each lets its form be sent once.
//!
//! Issued tickets are not among the messages of actions, and each user has a number of them, so neither the messages nor the forms of
//! other users push out the ticket of a form that is open.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actors::auth::secret::Secret;
use errors::Error;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use values::id::UserId;

/// How long after the last form the tickets of a user are kept.
const MAX_IDLE: Duration = Duration::from_secs(600);
/// Users whose tickets are kept. Of more, the tickets of those who opened no form for longest are dropped.
const MAX_USERS: u64 = 10_000;
/// Tickets of one user. A further one replaces the oldest.
const MAX_USER_TICKETS: usize = 32;

/// The tickets of a user, oldest first.
type UserTickets = Mutex<VecDeque<String>>;

/// The tickets that have not been used. They are lost when the process ends. Clones share them.
#[derive(Clone, Debug)]
pub struct FormTickets(Cache<UserId, Arc<UserTickets>>);

impl Default for FormTickets {
    fn default() -> Self {
        // Not the default policy, which refuses a new user in favour of others who opened many forms.
        let cache = Cache::builder().max_capacity(MAX_USERS).eviction_policy(EvictionPolicy::lru());
        Self(cache.time_to_idle(MAX_IDLE).build())
    }
}

impl FormTickets {
    /// Issues a ticket to a user.
    ///
    /// # Errors
    /// [`Error::Internal`] when the system gives no random bytes.
    pub fn issue(&self, user: UserId) -> Result<String, Error> {
        let ticket = new_ticket()?;
        let tickets = self.0.get_with(user, Arc::default);
        let mut tickets = lock(&tickets);
        if tickets.len() >= MAX_USER_TICKETS {
            tickets.pop_front();
        }
        tickets.push_back(ticket.clone());
        Ok(ticket)
    }

    /// Uses up a ticket. Returns whether it was issued to this user and not used before.
    pub fn spend(&self, user: UserId, ticket: &str) -> bool {
        let Some(tickets) = self.0.get(&user) else { return false };
        let mut tickets = lock(&tickets);
        let Some(index) = tickets.iter().position(|issued| issued == ticket) else { return false };
        tickets.remove(index).is_some()
    }
}

/// Returns a ticket that no other form has.
///
/// # Errors
/// [`Error::Internal`] when the system gives no random bytes.
pub fn new_ticket() -> Result<String, Error> {
    Ok(Secret::new_token("").map_err(Error::internal)?.expose().to_owned())
}

fn lock(tickets: &UserTickets) -> MutexGuard<'_, VecDeque<String>> {
    // Each use leaves the tickets consistent, even if it panics.
    tickets.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const USER: UserId = UserId(Uuid::from_u128(1));
    const OTHER: UserId = UserId(Uuid::from_u128(2));

    #[test]
    fn ticket_works_once_for_its_user() {
        let tickets = FormTickets::default();
        let ticket = tickets.issue(USER).unwrap();

        assert!(!tickets.spend(OTHER, &ticket) && !tickets.spend(USER, ""));
        assert!(tickets.clone().spend(USER, &ticket));
        assert!(!tickets.spend(USER, &ticket));
    }

    #[test]
    fn further_ticket_replaces_the_oldest_of_its_user() {
        let tickets = FormTickets::default();
        let of_other = tickets.issue(OTHER).unwrap();

        let issued: Vec<String> = (0..=MAX_USER_TICKETS).map(|_| tickets.issue(USER).unwrap()).collect();

        assert!(!tickets.spend(USER, &issued[0]));
        assert!(issued[1..].iter().all(|ticket| tickets.spend(USER, ticket)));
        assert!(tickets.spend(OTHER, &of_other));
    }
}
