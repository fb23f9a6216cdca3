//! The lines of the activity view in their table.

use database::insert_all;
use entity::activity;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ConnectionTrait, DbErr};
use values::id::ActivityId;

use crate::ledger::{CallStatus, Endpoint, LedgerEntry, RecordedCall, UsedCredential};

/// Maximum number of lines that a statement inserts.
const MAX_STATEMENT_LINES: usize = 128;

/// The outcome of an MCP call that succeeded.
const SUCCESS: &str = "ok";

/// Returns the line of a call, with a new id.
pub(super) fn line(entry: &LedgerEntry, call: RecordedCall) -> activity::Model {
    let (key_id, grant_id) = match entry.credential {
        UsedCredential::Key(key) => (Some(key), None),
        UsedCredential::Grant(grant) => (None, Some(grant)),
    };
    let (route, tool) = match call.endpoint {
        Endpoint::Route(route) => (Some(route.to_owned()), None),
        Endpoint::Tool(tool) => (None, Some(tool.to_owned())),
    };
    activity::Model {
        id: ActivityId::new(entry.at),
        user_id: entry.user,
        at: entry.at,
        surface: call.surface,
        key_id,
        grant_id,
        key_name: call.key_name.map(|name| name.to_string()),
        route,
        tool,
        status: match call.status {
            CallStatus::Http(status) => status.to_string(),
            CallStatus::Outcome(outcome) => outcome.to_owned(),
        },
        refused: match call.status {
            CallStatus::Http(status) => status >= 400,
            CallStatus::Outcome(outcome) => outcome != SUCCESS,
        },
        client: entry.client.as_ref().map(ToString::to_string),
        result_count: call.result_count,
    }
}

/// Returns the bytes that a line takes up in memory.
pub(super) fn line_bytes(line: &activity::Model) -> usize {
    let texts = [&line.key_name, &line.route, &line.tool, &line.client];
    let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
    size_of::<activity::Model>() + texts + line.status.len()
}

/// Inserts lines. Those that are there already are skipped: lines are written again if the answer to their COMMIT was lost.
///
/// # Errors
/// [`DbErr`] when a statement fails. Outside of a transaction the lines of the statements before it stay inserted.
pub async fn insert_lines(db: &impl ConnectionTrait, lines: &[&activity::Model]) -> Result<(), DbErr> {
    let key = [activity::Column::UserId, activity::Column::Id];
    let skip_existing = OnConflict::columns(key).do_nothing().to_owned();
    let mut rest = lines;
    while let Some(doublings) = rest.len().checked_ilog2() {
        // By powers of two: each number of rows is another statement, and the connection keeps few prepared ones.
        let (rows, later) = rest.split_at((1_usize << doublings).min(MAX_STATEMENT_LINES));
        let rows = rows.iter().map(|line| (*line).clone());
        insert_all::<activity::Entity>(db, rows, Some(&skip_existing)).await?;
        rest = later;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use database::Db;
    use entity::user;
    use sea_orm::{EntityTrait, IntoActiveModel, PaginatorTrait};
    use values::id::{GrantId, UserId};
    use values::kind::MeteredSurface;
    use values::plan::Plan;
    use values::time::Timestamp;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn tool_call(user: UserId) -> activity::Model {
        let call = RecordedCall {
            surface: MeteredSurface::Mcp,
            endpoint: Endpoint::Tool("search_library"),
            status: CallStatus::Outcome("ok"),
            key_name: None,
            result_count: Some(3),
        };
        let credential = UsedCredential::Grant(GrantId::new(NOON));
        let entry = LedgerEntry { user, credential, at: NOON, client: Some("Heron".into()), call: None };
        line(&entry, call)
    }

    #[test]
    fn line_has_the_fields_of_its_call() {
        let line = tool_call(UserId::new(NOON));

        assert_eq!((line.tool.as_deref(), line.route.as_deref()), (Some("search_library"), None));
        assert_eq!((line.key_id, line.grant_id.is_some()), (None, true));
        assert_eq!((line.client.as_deref(), line.result_count), (Some("Heron"), Some(3)));
        assert_eq!((line.status.as_str(), line.id.created_at()), ("ok", Some(NOON)));
    }

    #[actix::test]
    async fn lines_of_any_number_are_inserted_once() {
        let folder = tempfile::tempdir().unwrap();
        let db =
            Db::open(&format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display())).await.unwrap();
        let owner = user::Model::new(UserId::new(NOON), "a@b".to_owned(), "h".to_owned(), Plan::Pro, NOON);
        let user = owner.id;
        user::Entity::insert(owner.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        let lines: Vec<activity::Model> = (0..301).map(|_| tool_call(user)).collect();
        let lines: Vec<&activity::Model> = lines.iter().collect();

        insert_lines(db.write(), &lines[..7]).await.unwrap();
        insert_lines(db.write(), &lines).await.unwrap();
        insert_lines(db.write(), &[]).await.unwrap();

        assert_eq!(activity::Entity::owned_by(user).count(db.read()).await.unwrap(), 301);
    }
}
