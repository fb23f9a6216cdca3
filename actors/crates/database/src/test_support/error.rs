//! Errors as a database reports them, whose types in the drivers have no public constructor.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::sync::Arc;

use sea_orm::RuntimeErr;
use sqlx::error::{DatabaseError, ErrorKind};

/// An error of a database of which only the code is known.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
struct CodedRefusal(&'static str);

impl DatabaseError for CodedRefusal {
    fn message(&self) -> &str {
        self.0
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.0))
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

/// Returns the error that a database reports with this code, a result code of SQLite or an SQLSTATE. It is for tests of what an error
/// leads to.
pub fn refusal_with_code(code: &'static str) -> RuntimeErr {
    RuntimeErr::SqlxError(Arc::new(sqlx::Error::Database(Box::new(CodedRefusal(code)))))
}

#[cfg(test)]
mod tests {
    use sea_orm::DbErr;

    use super::*;
    use crate::fault::{DatabaseFault, StorageFault};

    #[test]
    fn refusal_with_code_is_classified_by_its_code() {
        let full = DbErr::Exec(refusal_with_code("53100"));
        let locked = DbErr::Query(refusal_with_code("5"));

        assert_eq!(DatabaseFault::of(&full), DatabaseFault::Storage(StorageFault::Full));
        assert_eq!(DatabaseFault::of(&locked), DatabaseFault::Locked);
    }
}
