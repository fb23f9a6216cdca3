//! Whether the stored size of each library is that of its rows.

use errors::Error;
use library::context::CoreContext;
use library::library_quota;

use super::check::{Check, SEE_DATABASE_FILES};
use crate::cli::failure;

const NAME: &str = "library sizes";

/// Compares the stored size of each account's library with its rows, and corrects it if `repairs` is set. Reads every text.
pub async fn check(core: &CoreContext, repairs: bool) -> Check {
    match compare(core, repairs).await {
        Ok(check) => check,
        Err(error) => Check::wrong(NAME, failure::describe(&error), SEE_DATABASE_FILES),
    }
}

async fn compare(core: &CoreContext, repairs: bool) -> Result<Check, Error> {
    let users = library_quota::find_miscounted_users(&core.db).await?;
    if users.is_empty() {
        return Ok(Check::good(NAME, "the stored size of each library is correct"));
    }
    let number = users.len();
    if !repairs {
        let libraries = if number == 1 { "library" } else { "libraries" };
        let found = format!("the stored size of {number} {libraries} is wrong");
        return Ok(Check::warning(NAME, found, "run `carrel doctor --repair`"));
    }
    for user in users {
        library_quota::recount(&core.db, user).await?;
    }
    Ok(Check::good(NAME, format!("libraries whose stored size was corrected: {number}")))
}
