//! The lives of authorization codes and refresh tokens: which state follows which, and the conditional update that makes
//! it so. Of two who ask for one step at once, one takes it (RFC 9700, sections 2.1.1 and 4.14).
//!
//! A code goes from issued to spent by its first presentation, and on to redeemed where that made a connection; a refresh
//! token from issued to spent. Nothing leads back. That they are too old, or their connection was ended or made anew, is no
//! state of theirs: it follows from the clock and the connection's number ([`super::ending`]).

use entity::kind::{CodeState, TokenState};
use entity::{oauth_code, oauth_token};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter};

/// Why a code or token did not change its state.
#[derive(Debug, thiserror::Error)]
pub enum TransitionError {
    /// The transition does not exist from the state that the code or token is in: it was presented before.
    #[error("the code or token was presented before")]
    AlreadyUsed,
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DbErr),
}

/// The state of a code after it is presented.
fn after_presentation(state: CodeState) -> Result<CodeState, TransitionError> {
    match state {
        CodeState::Issued => Ok(CodeState::Spent),
        CodeState::Spent | CodeState::Redeemed => Err(TransitionError::AlreadyUsed),
    }
}

/// The state of a code after a connection was made of it.
fn after_connection(state: CodeState) -> Result<CodeState, TransitionError> {
    match state {
        CodeState::Spent => Ok(CodeState::Redeemed),
        CodeState::Issued | CodeState::Redeemed => Err(TransitionError::AlreadyUsed),
    }
}

/// The state of a refresh token after it is exchanged.
fn after_exchange(state: TokenState) -> Result<TokenState, TransitionError> {
    match state {
        TokenState::Issued => Ok(TokenState::Spent),
        TokenState::Spent => Err(TransitionError::AlreadyUsed),
    }
}

/// One row was changed: nobody else took the step in between.
fn taken(rows: u64) -> Result<(), TransitionError> {
    if rows == 1 { Ok(()) } else { Err(TransitionError::AlreadyUsed) }
}

/// Spends a code, which somebody presents.
///
/// # Errors
/// [`TransitionError::AlreadyUsed`] where it was presented before.
pub async fn present(db: &impl ConnectionTrait, code: &mut oauth_code::Model) -> Result<(), TransitionError> {
    let (next, branch) = (after_presentation(code.state)?, code.branch);
    move_on(db, code, next, branch).await
}

/// Notes the connection that was made of a code.
///
/// # Errors
/// [`TransitionError::AlreadyUsed`] where it was not spent just before.
pub async fn redeem(
    db: &impl ConnectionTrait,
    code: &mut oauth_code::Model,
    branch: i64,
) -> Result<(), TransitionError> {
    let next = after_connection(code.state)?;
    move_on(db, code, next, Some(branch)).await
}

async fn move_on(
    db: &impl ConnectionTrait,
    code: &mut oauth_code::Model,
    next: CodeState,
    branch: Option<i64>,
) -> Result<(), TransitionError> {
    let change = oauth_code::Entity::update_many()
        .col_expr(oauth_code::Column::State, Expr::value(next))
        .col_expr(oauth_code::Column::Branch, Expr::value(branch));
    let own = change.filter(oauth_code::Column::Hash.eq(code.hash.as_slice()));
    taken(own.filter(oauth_code::Column::State.eq(code.state)).exec(db).await?.rows_affected)?;
    (code.state, code.branch) = (next, branch);
    Ok(())
}

/// Spends a refresh token, for which the next pair is issued.
///
/// # Errors
/// [`TransitionError::AlreadyUsed`] where it was spent before.
pub async fn spend(db: &impl ConnectionTrait, token: &mut oauth_token::Model) -> Result<(), TransitionError> {
    let next = after_exchange(token.state)?;
    let change = oauth_token::Entity::update_many().col_expr(oauth_token::Column::State, Expr::value(next));
    let own = change.filter(oauth_token::Column::Hash.eq(token.hash.as_slice()));
    taken(own.filter(oauth_token::Column::State.eq(token.state)).exec(db).await?.rows_affected)?;
    token.state = next;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the threat table (row O3).
    #[test]
    fn a_code_is_presented_once_and_redeemed_only_then() {
        let presented = [CodeState::Issued, CodeState::Spent, CodeState::Redeemed].map(after_presentation);
        let connected = [CodeState::Issued, CodeState::Spent, CodeState::Redeemed].map(after_connection);

        assert!(matches!(
            presented,
            [Ok(CodeState::Spent), Err(TransitionError::AlreadyUsed), Err(TransitionError::AlreadyUsed)]
        ));
        assert!(matches!(
            connected,
            [Err(TransitionError::AlreadyUsed), Ok(CodeState::Redeemed), Err(TransitionError::AlreadyUsed)]
        ));
    }

    /// Of the threat table (row O4).
    #[test]
    fn a_refresh_token_is_exchanged_once() {
        assert!(matches!(after_exchange(TokenState::Issued), Ok(TokenState::Spent)));
        assert!(matches!(after_exchange(TokenState::Spent), Err(TransitionError::AlreadyUsed)));
    }
}
