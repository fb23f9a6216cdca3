//! A fact of the whole service, by name: secrets that outlive restarts, the generation of the keys, the pause of the AI.

use sea_orm::entity::prelude::*;

/// A fact of the whole service, by name: secrets that outlive restarts, the generation of the keys, the pause of the AI.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "service_state")]
pub struct Model {
    /// What it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// The fact.
    #[sea_orm(column_type = "Text")]
    pub value: String,
}

crate::owned::no_relations!();
