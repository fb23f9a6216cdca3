//! A named value of the whole service: secrets that survive restarts, the generation of the keys, whether AI is paused.

use sea_orm::entity::prelude::*;

/// A named value of the whole service: secrets that survive restarts, the generation of the keys, whether AI is paused.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "service_state")]
pub struct Model {
    /// Name of the value.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// The value.
    #[sea_orm(column_type = "Text")]
    pub value: String,
}

crate::owned::no_relations!();
