//! Whether the kept counts of each library are those of its rows.

use errors::Error;
use library::context::CoreContext;
use library::kept_counts;

use super::check::{Check, SEE_DATABASE_FILES};
use crate::cli::failure;

const NAME: &str = "library counts";

/// Compares the kept counts of each account with its rows, and corrects them if `repairs` is set. Reads every counted row.
pub async fn check(core: &CoreContext, repairs: bool) -> Check {
    match compare(core, repairs).await {
        Ok(check) => check,
        Err(error) => Check::wrong(NAME, failure::describe(&error), SEE_DATABASE_FILES),
    }
}

async fn compare(core: &CoreContext, repairs: bool) -> Result<Check, Error> {
    let users = kept_counts::find_miscounted_users(&core.db).await?;
    if users.is_empty() {
        return Ok(Check::good(NAME, "the kept counts of each library are correct"));
    }
    let number = users.len();
    if !repairs {
        let libraries = if number == 1 { "library are" } else { "libraries are" };
        let found = format!("the kept counts of {number} {libraries} wrong");
        return Ok(Check::warning(NAME, found, "run `carrel doctor --repair`"));
    }
    for user in users {
        kept_counts::recount(&core.db, user).await?;
    }
    Ok(Check::good(NAME, format!("libraries whose kept counts were corrected: {number}")))
}
