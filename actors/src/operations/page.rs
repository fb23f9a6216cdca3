//! Pages of lists: bounds, and the position that a cursor holds.

use entity::id::UserId;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::OperationContext;
use errors::Error;
use validation::{Field, Kind, Values};

/// What the field `cursor` may hold.
pub const CURSOR: Field = Field::optional(
    "cursor",
    Kind::Words { min: 1, max: super::cursor::MOST_CHARS },
    "The `nextCursor` of the page before. Without it the first page is returned.",
);

/// A page that is asked for.
#[derive(Clone, Debug)]
pub struct PageOf {
    /// How many at most.
    pub limit: u64,
    /// The cursor, unopened: it is bound to its caller.
    pub cursor: Option<String>,
}

impl PageOf {
    /// Reads `limit` and `cursor`.
    pub fn read(values: &mut Values, default: u64) -> Self {
        Self { limit: values.integer("limit").unwrap_or(default), cursor: values.text("cursor") }
    }

    /// Where the page begins, if not at the beginning. `list` names the list with all that it depends on.
    pub fn position<T: DeserializeOwned>(
        &self,
        ctx: &OperationContext,
        user: UserId,
        list: &str,
    ) -> Result<Option<T>, Error> {
        let open = |cursor: &String| ctx.cursors.open(user.0, list, cursor);
        let position = self.cursor.as_ref().map(open).transpose();
        position.map_err(|_| {
            Error::invalid("cursor", "is not a cursor of this list; use the nextCursor of its previous page")
        })
    }

    /// Cuts one row more than the page down to the page; the cursor of the next page where there is one.
    pub fn cut<R, T: Serialize>(
        &self,
        ctx: &OperationContext,
        user: UserId,
        list: &str,
        rows: &mut Vec<R>,
        position: impl Fn(&R) -> T,
    ) -> Option<String> {
        let most = usize::try_from(self.limit).unwrap_or(usize::MAX);
        if rows.len() <= most {
            return None;
        }
        rows.truncate(most);
        rows.last().map(|last| ctx.cursors.seal(user.0, list, &position(last)))
    }
}
