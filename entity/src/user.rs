//! An account.

use crate::id::UserId;
use crate::plan::Plan;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// An account.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "user")]
pub struct Model {
    /// The account.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: UserId,
    /// Address, in lower case; unique.
    pub email: String,
    /// What the person is called.
    pub name: Option<String>,
    /// Argon2id, as a PHC string.
    pub password_hash: String,
    /// What the person has subscribed to.
    pub plan: Plan,
    /// Set while an operator has shut the account.
    pub disabled_at: Option<Timestamp>,
    /// When the account was made.
    pub created_at: Timestamp,
}

crate::owned::no_relations!();

impl Entity {
    /// The account with this address; addresses are compared in lower case.
    pub fn by_email(email: &str) -> Select<Entity> {
        Self::find().filter(Column::Email.eq(email.to_lowercase()))
    }
}
