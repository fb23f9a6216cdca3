//! A user account.

use sea_orm::entity::prelude::*;
use values::id::UserId;
use values::plan::Plan;
use values::time::Timestamp;

/// A user account.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "user")]
pub struct Model {
    /// Id of the account, to which every owned row refers.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: UserId,
    /// E-mail address, in lower case; unique.
    pub email: String,
    /// Display name, if the account has one.
    pub name: Option<String>,
    /// Argon2id hash of the password, as a PHC string.
    pub password_hash: String,
    /// The plan, which determines scopes and limits.
    pub plan: Plan,
    /// Time at which an operator disabled the account; `None` if it is enabled.
    pub disabled_at: Option<Timestamp>,
    /// Time from which the account may see and change how the server is run; `None` for other accounts.
    pub operator_since: Option<Timestamp>,
    /// Time at which the account was created.
    pub created_at: Timestamp,
}

crate::owned::no_relations!();

impl Model {
    /// Returns an enabled account without a name. `email` is in lower case; `password_hash` is a PHC string.
    pub fn new(id: UserId, email: String, password_hash: String, plan: Plan, created_at: Timestamp) -> Self {
        Self {
            id,
            email,
            name: None,
            password_hash,
            plan,
            disabled_at: None,
            operator_since: None,
            created_at,
        }
    }
}

impl Entity {
    /// Returns the account with this e-mail address; addresses are compared in lower case.
    pub fn by_email(email: &str) -> Select<Entity> {
        Self::find().filter(Column::Email.eq(email.to_lowercase()))
    }
}
