//! A named value of the whole service: secrets that survive restarts, the generation of the keys, whether AI is paused.

use sea_orm::entity::prelude::*;

/// A named value of the whole service: secrets that survive restarts, the generation of the keys, whether AI is paused.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "service_state")]
pub struct Model {
    /// Name of the value; `service_state` of crate actors declares the names.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// The value as text, in a form that depends on the name.
    #[sea_orm(column_type = "Text")]
    pub value: String,
}

crate::owned::no_relations!();
