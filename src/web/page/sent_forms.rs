//! Forms that create something. The same form sent again, or several times at the same moment, creates it once: the browser is sent to
//! what the first one created.
//!
//! Two forms are the same if they have the same address and the same fields. Their ticket tells a form that is sent twice from one that
//! was opened again and filled in with the same texts.

use std::sync::Arc;
use std::time::Duration;

use errors::Error;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;
use values::id::UserId;

use super::done::DoneMessage;
use super::fields::Fields;

/// How long a form that was sent is known. It is sent again within seconds, or by the network within minutes.
const MAX_AGE: Duration = Duration::from_secs(600);
/// Forms of all users that are known. Of more, those that were sent longest ago are forgotten.
const MAX_FORMS: u64 = 10_000;

/// The page to which a form leads.
#[derive(Clone, Debug)]
pub struct FormOutcome {
    /// The address of the page.
    pub path: String,
    /// What the page says once.
    pub message: Option<DoneMessage>,
}

/// The user who sent a form, and the hash of its address and fields.
type FormKey = (UserId, [u8; 32]);

/// The forms that were sent. They are lost when the process ends. Clones share them.
#[derive(Clone, Debug)]
pub struct SentForms(Cache<FormKey, Arc<OnceCell<FormOutcome>>>);

impl Default for SentForms {
    fn default() -> Self {
        // Not the default policy, which does not keep a new form while older ones are in demand.
        let cache = Cache::builder().max_capacity(MAX_FORMS).eviction_policy(EvictionPolicy::lru());
        Self(cache.time_to_live(MAX_AGE).build())
    }
}

impl SentForms {
    /// Carries out a form, unless the user sent the same one before: then it returns the outcome of that one, and waits for it if it is
    /// still being carried out. A form that failed is carried out again, and so is one without a ticket.
    ///
    /// # Errors
    /// Those of `create`.
    pub async fn run_once(
        &self,
        user: UserId,
        path: &str,
        form: &Fields,
        create: impl Future<Output = Result<FormOutcome, Error>>,
    ) -> Result<FormOutcome, Error> {
        if form.get("ticket").is_none() {
            return create.await;
        }
        let outcome = self.0.get_with((user, hash_of(path, form)), Arc::default);
        outcome.get_or_try_init(|| create).await.cloned()
    }
}

fn hash_of(path: &str, form: &Fields) -> [u8; 32] {
    Sha256::digest(format!("{path}?{}", form.query_without(&[]))).into()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const USER: UserId = UserId(Uuid::from_u128(1));
    const OTHER: UserId = UserId(Uuid::from_u128(2));

    /// Sends a form. Returns the address to which it leads.
    async fn send(
        forms: &SentForms,
        user: UserId,
        form: &str,
        created: Result<&str, Error>,
    ) -> Result<String, Error> {
        let create = async { created.map(|path| FormOutcome { path: path.to_owned(), message: None }) };
        let sent = forms.run_once(user, "/projects", &Fields::parse(form.as_bytes()), create).await;
        sent.map(|outcome| outcome.path)
    }

    #[actix_web::test]
    async fn form_runs_again_only_if_it_failed_or_differs() {
        let forms = SentForms::default();

        assert!(send(&forms, USER, "ticket=1&name=a", Err(Error::not_found())).await.is_err());
        for created in ["/first", "/second"] {
            assert_eq!(send(&forms, USER, "ticket=1&name=a", Ok(created)).await.unwrap(), "/first");
        }
        for (user, form) in [
            (OTHER, "ticket=1&name=a"),
            (USER, "ticket=2&name=a"),
            (USER, "ticket=1&name=b"),
            (USER, "name=a"),
            (USER, "name=a"),
        ] {
            assert_eq!(send(&forms, user, form, Ok("/own")).await.unwrap(), "/own", "{form}");
        }
    }
}
