//! Why a page has no article.

use serde::{Deserialize, Serialize};

/// Why a page has no article.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ArticleError {
    /// The page has no words, no title and no redirect.
    #[error("the page has no text")]
    NoText,
    /// The page is an error page that was sent with a success status.
    #[error("the page says that it does not exist")]
    NotFound,
    /// More than 512 elements are nested in each other; browsers build no deeper tree.
    #[error("the page nests its elements too deeply")]
    TooDeep,
    /// A tag has more than 512 attributes.
    #[error("a tag of the page has too many attributes")]
    TooManyAttributes,
}
