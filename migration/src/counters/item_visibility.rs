//! Whether items of projects are visible: the column `project_item.is_visible`, by which items are listed and counted, and the triggers
//! that keep it. An item is visible while its document is not hidden and, unless it refers to a note or an entry, has a bookmark.

use sea_orm_migration::sea_orm::DatabaseBackend;

use super::kept_column::KeptColumn;
use super::trigger_sql::row_trigger;

/// SQL for whether an item is visible. The prefixes are those of the columns of the item and of its document.
fn is_visible(item: &str, document: &str) -> String {
    format!(
        "({document}hidden_at IS NULL AND ({item}kind IN ('note', 'entry') OR {document}bookmark_id IS NOT NULL))"
    )
}

/// The column, for the comparison with the documents.
pub(super) fn column() -> KeptColumn {
    let differs = format!("project_item.is_visible <> {}", is_visible("project_item.", "document."));
    KeptColumn {
        differing_owners: format!(
            "SELECT project_item.user_id FROM project_item JOIN document ON document.id = project_item.document_id
             WHERE {differs}"
        ),
        // Cross joins, because SQLite keeps their order: no index of the items begins with the owner.
        correction: format!(
            "UPDATE project_item SET is_visible = NOT is_visible WHERE id IN (
               SELECT project_item.id FROM project CROSS JOIN project_item CROSS JOIN document
               WHERE project.user_id = $1 AND project_item.project_id = project.id
                 AND document.id = project_item.document_id AND {differs})"
        ),
    }
}

/// Returns the triggers of items and of documents, and on PostgreSQL their functions.
pub(super) fn statements(backend: DatabaseBackend) -> Vec<String> {
    let is_postgres = backend == DatabaseBackend::Postgres;
    // The program inserts an item as visible; an import may add one whose bookmark is deleted.
    let is_visible_now = format!(
        "EXISTS (SELECT 1 FROM document WHERE id = NEW.document_id AND {})",
        is_visible("NEW.", "document.")
    );
    let of_items = if is_postgres {
        let set = format!("NEW.is_visible := {is_visible_now};");
        let event = "BEFORE INSERT OR UPDATE OF kind, document_id";
        row_trigger(backend, ("project_item", "shows"), event, "", &set)
    } else {
        let is_wrong = format!("WHEN NEW.is_visible <> {is_visible_now}");
        let set = "UPDATE project_item SET is_visible = NOT NEW.is_visible WHERE id = NEW.id;";
        [("shows", "AFTER INSERT"), ("still_shows", "AFTER UPDATE OF kind, document_id")]
            .into_iter()
            .flat_map(|(name, event)| row_trigger(backend, ("project_item", name), event, &is_wrong, set))
            .collect()
    };
    let update = format!(
        "UPDATE project_item SET is_visible = NOT is_visible WHERE document_id = NEW.id AND is_visible <> {};",
        is_visible("", "NEW.")
    );
    // On PostgreSQL an update runs the triggers of its table also if it finds no row, and most documents are in no project.
    let update = if is_postgres {
        format!("IF EXISTS (SELECT 1 FROM project_item WHERE document_id = NEW.id) THEN {update} END IF;")
    } else {
        update
    };
    let may_change = "WHEN ((NEW.hidden_at IS NULL) <> (OLD.hidden_at IS NULL)
        OR (NEW.bookmark_id IS NULL) <> (OLD.bookmark_id IS NULL))";
    let event = "AFTER UPDATE OF hidden_at, bookmark_id";
    let changed = row_trigger(backend, ("document", "shows_items"), event, may_change, &update);
    of_items.into_iter().chain(changed).collect()
}
