//! The rows of the counts of a day.

use std::collections::HashSet;

use database::insert_all;
use entity::usage_day;
use errors::Error;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use values::id::UserId;
use values::time::Day;

use super::limit_table::CountBatch;
use crate::auth::existing_users::MAX_STATEMENT_USERS;

/// Writes the rows of the counters of these users, who must be locked, and returns all rows of the users and days of the batch, also
/// those of other processes.
pub async fn write_counts(
    txn: &impl ConnectionTrait,
    batch: &CountBatch,
    existing: &HashSet<UserId>,
) -> Result<Vec<usage_day::Model>, Error> {
    let is_written = |user: &UserId| existing.contains(user);
    let rows = batch.iter().filter(|((user, ..), _)| is_written(user)).map(|(key, (counter, calls))| {
        let (user_id, surface, day) = *key;
        usage_day::Model { user_id, day, surface, counter_id: *counter, calls: *calls }
    });
    let key = [
        usage_day::Column::UserId,
        usage_day::Column::Day,
        usage_day::Column::Surface,
        usage_day::Column::CounterId,
    ];
    let replace = OnConflict::columns(key).update_column(usage_day::Column::Calls).to_owned();
    insert_all::<usage_day::Entity>(txn, rows, Some(&replace)).await?;
    let days: HashSet<Day> = batch.keys().map(|(.., day)| *day).collect();
    // Each user is named once, so that no row is returned twice.
    let users: HashSet<UserId> = batch.keys().map(|(user, ..)| *user).filter(is_written).collect();
    let users: Vec<UserId> = users.into_iter().collect();
    let mut rows = Vec::new();
    for users in users.chunks(MAX_STATEMENT_USERS) {
        let of_users = usage_day::Entity::of_users(users.iter().copied())
            .filter(usage_day::Column::Day.is_in(days.iter().copied()));
        rows.extend(of_users.all(txn).await?);
    }
    Ok(rows)
}
