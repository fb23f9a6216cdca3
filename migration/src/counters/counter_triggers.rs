//! The triggers that create and delete the rows of counters, and those that count rows by their own columns.

use sea_orm_migration::sea_orm::DatabaseBackend;

use super::sum_counters::{
    ACCOUNT_COUNTERS, FEED_COUNTERS, PENDING_JOBS, PROJECT_COUNTERS, SumCounter, SumCounterTable,
};
use super::trigger_sql::{row_trigger, statement_function, statement_triggers};

/// Returns the triggers that create the row of an account, of a feed, of a collection and of a project, and delete it before them.
pub(super) fn owner_statements(backend: DatabaseBackend) -> Vec<String> {
    let of_account = [
        "INSERT INTO account_count (user_id) VALUES (NEW.id);",
        "DELETE FROM account_count WHERE user_id = OLD.id;
         DELETE FROM tag_count WHERE user_id = OLD.id;
         DELETE FROM collection_count WHERE user_id = OLD.id;
         DELETE FROM feed_count WHERE user_id = OLD.id;
         DELETE FROM project_count WHERE user_id = OLD.id;",
    ];
    let of_feed = [
        "INSERT INTO feed_count (user_id, feed_id) VALUES (NEW.user_id, NEW.id);",
        "DELETE FROM feed_count WHERE user_id = OLD.user_id AND feed_id = OLD.id;",
    ];
    let of_collection = [
        "INSERT INTO collection_count (user_id, collection_id) VALUES (NEW.user_id, NEW.id);",
        "DELETE FROM collection_count WHERE user_id = OLD.user_id AND collection_id = OLD.id;",
    ];
    let of_project = [
        "INSERT INTO project_count (user_id, project_id) VALUES (NEW.user_id, NEW.id);",
        "DELETE FROM project_count WHERE user_id = OLD.user_id AND project_id = OLD.id;",
    ];
    [("user", of_account), ("feed", of_feed), ("collection", of_collection), ("project", of_project)]
        .into_iter()
        .flat_map(|(table, [insert, delete])| {
            let created = row_trigger(backend, (table, "created"), "AFTER INSERT", "", insert);
            created.into_iter().chain(row_trigger(backend, (table, "deleted"), "BEFORE DELETE", "", delete))
        })
        .collect()
}

/// Returns the triggers of the tables that accounts, feeds and projects count. Those of jobs are in `pending_jobs`: they do more.
pub(super) fn counter_statements(backend: DatabaseBackend) -> Vec<String> {
    [ACCOUNT_COUNTERS, FEED_COUNTERS, PROJECT_COUNTERS]
        .iter()
        .flat_map(|counts| counts.sources().into_iter().map(move |source| (counts, source)))
        .filter(|(_, source)| *source != PENDING_JOBS.source)
        .flat_map(|(counts, source)| {
            if backend == DatabaseBackend::Postgres {
                postgres_triggers(counts, source)
            } else {
                sqlite_triggers(counts, source)
            }
        })
        .collect()
}

/// Returns one trigger for each of insert, update and delete. An update cannot change a number whose values depend on no column.
fn sqlite_triggers(counts: &SumCounterTable, source: &str) -> Vec<String> {
    let counters = counts.counters_of(source);
    let trigger = |event: &str, row: &str, change: &dyn Fn(&SumCounter) -> String| {
        let name = event.split(' ').next().unwrap_or(event).to_lowercase();
        let changes: Vec<String> = counters.iter().copied().map(change).collect();
        // A row that counts nothing does not write the row of the counters.
        let is_change: Vec<String> = changes.iter().map(|change| format!("({change}) <> 0")).collect();
        let set = counters.iter().zip(&changes);
        let set = set.map(|(counter, change)| format!("{0} = {0} + ({change})", counter.column));
        let key = counts.key.iter().map(|column| format!("{column} = {row}{column}"));
        format!(
            "CREATE TRIGGER row_count_{source}_{name} AFTER {event} ON {source} WHEN {} BEGIN
               UPDATE {} SET {} WHERE {};
             END",
            is_change.join(" OR "),
            counts.table,
            set.collect::<Vec<_>>().join(", "),
            key.collect::<Vec<_>>().join(" AND ")
        )
    };
    let columns = changing_columns(&counters);
    let update = (!columns.is_empty()).then(|| {
        let event = format!("UPDATE OF {}", columns.join(", "));
        trigger(&event, "NEW.", &|counter: &SumCounter| {
            format!("({}) - ({})", counter.value_of("NEW."), counter.value_of("OLD."))
        })
    });
    let insert = trigger("INSERT", "NEW.", &|counter: &SumCounter| counter.value_of("NEW."));
    let delete =
        trigger("DELETE", "OLD.", &|counter: &SumCounter| format!("0 - ({})", counter.value_of("OLD.")));
    [Some(insert), update, Some(delete)].into_iter().flatten().collect()
}

/// Returns the columns whose change can change one of the numbers, each once.
fn changing_columns(counters: &[&SumCounter]) -> Vec<&'static str> {
    let mut columns: Vec<&'static str> =
        counters.iter().flat_map(|counter| counter.depends_on.iter().copied()).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Returns a function for the table and the triggers that call it, one for each event: a transition table belongs to one event. The
/// events are those of [`sqlite_triggers`].
fn postgres_triggers(counts: &SumCounterTable, source: &str) -> Vec<String> {
    let counters = counts.counters_of(source);
    let key = counts.key.join(", ");
    let select = |sign: &str, rows: &str| {
        let value = |counter: &&SumCounter| format!("{sign}({}) AS {}", counter.value_of(""), counter.column);
        let values: Vec<String> = counters.iter().map(value).collect();
        format!("SELECT {key}, {} FROM {rows}", values.join(", "))
    };
    let (added, removed) = (select("", "added"), select("-", "removed"));
    let update = |rows: &str| {
        let each = |to_sql: &dyn Fn(&str) -> String, separator: &str| {
            counters.iter().map(|counter| to_sql(counter.column)).collect::<Vec<_>>().join(separator)
        };
        let on_key = counts.key.iter().map(|column| format!("counter.{column} = change.{column}"));
        format!(
            "UPDATE {} AS counter SET {}
             FROM (SELECT {key}, {} FROM ({rows}) AS changed GROUP BY {key}) AS change
             WHERE {} AND ({});",
            counts.table,
            each(&|column: &str| format!("{column} = counter.{column} + change.{column}"), ", "),
            each(&|column: &str| format!("SUM({column}) AS {column}"), ", "),
            on_key.collect::<Vec<_>>().join(" AND "),
            each(&|column: &str| format!("change.{column} <> 0"), " OR "),
        )
    };
    let name = format!("row_count_of_{source}");
    let columns = changing_columns(&counters);
    // A function without the trigger of an update names no transition table that it does not have.
    let of_update =
        if columns.is_empty() { String::new() } else { update(&format!("{added} UNION ALL {removed}")) };
    let function = statement_function(&name, [&update(&added), &of_update, &update(&removed)]);
    std::iter::once(function).chain(statement_triggers(source, &name, !columns.is_empty())).collect()
}
