//! Whether the counts that are stored for each library are those of its rows.

use errors::Error;
use library::context::CoreContext;
use library::{counters, library_quota};
use values::id::UserId;

use super::check::{Check, SEE_DATABASE_FILES};
use crate::cli::failure;

/// A count that triggers update with the rows of a library.
#[derive(Clone, Copy, Debug)]
pub enum StoredCount {
    /// The bytes that the library takes up. Their check reads every text.
    Bytes,
    /// The numbers of rows that lists show. Their check reads every counted row.
    Rows,
}

/// The words of a check for what it compares.
struct Wording {
    check: &'static str,
    subject: &'static str,
    is: &'static str,
    was: &'static str,
}

impl StoredCount {
    fn wording(self) -> Wording {
        match self {
            Self::Bytes => Wording { check: "library sizes", subject: "stored size", is: "is", was: "was" },
            Self::Rows => Wording { check: "library counters", subject: "counters", is: "are", was: "were" },
        }
    }

    async fn find_miscounted_users(self, core: &CoreContext) -> Result<Vec<UserId>, Error> {
        match self {
            Self::Bytes => library_quota::find_miscounted_users(&core.db).await,
            Self::Rows => counters::find_miscounted_users(&core.db).await,
        }
    }

    async fn recount(self, core: &CoreContext, user: UserId) -> Result<(), Error> {
        match self {
            Self::Bytes => library_quota::recount(&core.db, user).await,
            Self::Rows => counters::recount(&core.db, user).await,
        }
    }
}

/// Compares a count of each account's library with its rows, and corrects it if `repairs` is set.
pub async fn check(core: &CoreContext, count: StoredCount, repairs: bool) -> Check {
    match compare(core, count, repairs).await {
        Ok(check) => check,
        Err(error) => Check::wrong(count.wording().check, failure::describe(&error), SEE_DATABASE_FILES),
    }
}

async fn compare(core: &CoreContext, count: StoredCount, repairs: bool) -> Result<Check, Error> {
    let Wording { check: name, subject, is, was } = count.wording();
    let users = count.find_miscounted_users(core).await?;
    if users.is_empty() {
        return Ok(Check::good(name, format!("the {subject} of each library {is} correct")));
    }
    let number = users.len();
    if !repairs {
        let libraries = if number == 1 { "library" } else { "libraries" };
        let found = format!("the {subject} of {number} {libraries} {is} wrong");
        return Ok(Check::warning(name, found, "run `carrel doctor --repair`"));
    }
    for user in users {
        count.recount(core, user).await?;
    }
    Ok(Check::good(name, format!("libraries whose {subject} {was} corrected: {number}")))
}
