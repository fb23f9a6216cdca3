//! Messages about what an action did, which the next page shows once, with a form that takes it back.

use std::time::Duration;

use actors::auth::secret::Secret;
use errors::Error;
use moka::sync::Cache;
use values::id::UserId;

use crate::web::strings::MessageValue;

/// How long a message can be shown, and its action be taken back.
const LIFETIME: Duration = Duration::from_secs(600);
/// Messages of all users. Of more, those that are used least are dropped, and their pages show none.
const MAX_MESSAGES: u64 = 10_000;

/// What an action did, in a text of the catalogue.
#[derive(Clone, Debug)]
pub struct DoneMessage {
    /// The key of the text.
    pub key: &'static str,
    /// The values of the text.
    pub values: Vec<(&'static str, MessageValue)>,
    /// The form that takes the action back.
    pub undo: Option<UndoForm>,
}

/// A form that takes an action back: one button.
#[derive(Clone, Debug)]
pub struct UndoForm {
    /// The address to which it is posted.
    pub action: String,
    /// Its hidden fields.
    pub fields: Vec<(String, String)>,
}

impl DoneMessage {
    /// A message without values.
    pub fn new(key: &'static str) -> Self {
        Self { key, values: Vec::new(), undo: None }
    }

    /// Adds a value of the text.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: MessageValue) -> Self {
        self.values.push((name, value));
        self
    }

    /// Adds the form that takes the action back.
    #[must_use]
    pub fn undo(mut self, action: impl Into<String>, fields: &[(&str, &str)]) -> Self {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.undo = Some(UndoForm { action: action.into(), fields });
        self
    }
}

/// The messages that have not been shown yet. They are lost when the process ends. Clones share them.
#[derive(Clone, Debug)]
pub struct DoneMessages(Cache<(UserId, String), DoneMessage>);

impl Default for DoneMessages {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(MAX_MESSAGES).time_to_live(LIFETIME).build())
    }
}

impl DoneMessages {
    /// Keeps a message for a user. Returns its token.
    ///
    /// # Errors
    /// [`Error::Internal`] when the system gives no random bytes.
    pub fn keep(&self, user: UserId, message: DoneMessage) -> Result<String, Error> {
        let token = Secret::new_token("").map_err(Error::internal)?.expose().to_owned();
        self.0.insert((user, token.clone()), message);
        Ok(token)
    }

    /// Takes a message out, so that it is shown once.
    pub fn take(&self, user: UserId, token: &str) -> Option<DoneMessage> {
        self.0.remove(&(user, token.to_owned()))
    }
}
