//! Whether the counted bytes of each library are those of its rows.

use actors::desk::Desk;
use actors::error::Error;
use actors::library_quota;

use super::check::Check;
use super::database::SEE_DATABASE_FILES;
use crate::cli::failure;

const NAME: &str = "library sizes";

/// Compares each account's count with its rows, and counts anew where that is asked for. It reads every text.
pub async fn check(desk: &Desk, repairs: bool) -> Check {
    match compare(desk, repairs).await {
        Ok(check) => check,
        Err(error) => Check::wrong(NAME, failure::words(&error), SEE_DATABASE_FILES),
    }
}

async fn compare(desk: &Desk, repairs: bool) -> Result<Check, Error> {
    let users = library_quota::differing(&desk.db).await?;
    if users.is_empty() {
        return Ok(Check::good(NAME, "the bytes of each library are counted correctly"));
    }
    let found = format!("the bytes of {} libraries were counted wrongly", users.len());
    if !repairs {
        return Ok(Check::warning(NAME, found, "run `carrel doctor --repair`"));
    }
    for user in users {
        library_quota::recount(&desk.db, user).await?;
    }
    Ok(Check::good(NAME, format!("{found}, and are counted anew")))
}
