//! The joins of passages with their documents. All are of one user.

use entity::{chunk, document};
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, Condition, EntityTrait, RelationDef};
use values::id::UserId;

/// Returns the join of a passage with its document, if the user may read it.
pub fn visible_document(user: UserId) -> RelationDef {
    chunk::Entity::belongs_to(document::Entity)
        .from(chunk::Column::DocumentId)
        .to(document::Column::Id)
        .on_condition(move |_, _| is_visible(user))
        .into()
}

/// Returns the join of a passage with its document, if it is part of the current text and the user may read it.
pub fn document_of_current_text(user: UserId) -> RelationDef {
    chunk::Entity::belongs_to(document::Entity)
        .from(chunk::Column::DocumentId)
        .to(document::Column::Id)
        .on_condition(move |_, _| {
            let version = (document::Entity, document::Column::Version);
            is_visible(user).add(chunk::Column::Version.into_expr().equals(version))
        })
        .into()
}

/// Returns the join of a document with the first passage of its current text.
pub fn first_passage(user: UserId) -> RelationDef {
    document::Entity::belongs_to(chunk::Entity)
        .from(document::Column::Id)
        .to(chunk::Column::DocumentId)
        .on_condition(move |_, _| {
            let version = chunk::Column::Version.into_expr();
            Condition::all()
                .add(chunk::Column::UserId.eq(user))
                .add(version.equals((document::Entity, document::Column::Version)))
                .add(chunk::Column::Ordinal.eq(0))
        })
        .into()
}

/// Returns the condition that the user may read the document of the statement.
fn is_visible(user: UserId) -> Condition {
    Condition::all().add(document::Column::UserId.eq(user)).add(document::Column::HiddenAt.is_null())
}
