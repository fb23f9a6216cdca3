//! Errors in a form that can be returned several times.

use std::sync::Arc;

use sea_orm::{DbErr, RuntimeErr};

use super::fault::driver_error;

/// An error of the database that ends more than one statement or transaction. Each of them gets it as a [`DbErr`] of the same fault.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// An error of the driver, or of this crate in its form ([`super::fault`]), by which it is classified.
    Driver(Arc<sqlx::Error>),
    /// Another error, of which only the message is kept.
    Other(String),
}

impl From<&DbErr> for Failure {
    fn from(error: &DbErr) -> Self {
        match driver_error(error) {
            Some(cause) => Self::Driver(cause.clone()),
            None => Self::Other(error.to_string()),
        }
    }
}

impl From<&Failure> for DbErr {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Driver(cause) => DbErr::Exec(RuntimeErr::SqlxError(cause.clone())),
            Failure::Other(text) => {
                DbErr::Custom(format!("an earlier statement of the transaction failed: {text}"))
            }
        }
    }
}
