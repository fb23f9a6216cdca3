//! The states of authorization codes and refresh tokens, and the conditional updates that change them. Of two requests that take the
//! same step at the same time, one succeeds (RFC 9700, sections 2.1.1 and 4.14).
//!
//! A code goes from issued to spent when it is first presented, and on to redeemed if that made a grant; a refresh token goes
//! from issued to spent. No transition leads back. Expiry and the end of the grant are not states: they follow from the clock
//! and the grant's number ([`super::revocation`]).

use entity::{oauth_code, oauth_token};
use sea_orm::sea_query::{Expr, IntoCondition};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter};
use values::kind::{CodeState, TokenState};

/// Why a code or token did not change its state.
#[derive(Debug, thiserror::Error)]
pub enum TransitionError {
    /// The transition does not exist from the state that the code or token is in: it was presented before. Of a token also if the
    /// condition of the step does not hold.
    #[error("the code or token was presented before")]
    AlreadyUsed,
    /// The update failed in the database.
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

/// The state of a code after a grant was made of it.
fn after_redemption(state: CodeState) -> Result<CodeState, TransitionError> {
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

/// Checks that one row was changed: no other request took the step meanwhile.
fn check_changed(rows: u64) -> Result<(), TransitionError> {
    if rows == 1 { Ok(()) } else { Err(TransitionError::AlreadyUsed) }
}

/// Spends a code that a client presents.
///
/// # Errors
/// [`TransitionError::AlreadyUsed`] if it was presented before.
pub async fn present_code(
    db: &impl ConnectionTrait,
    code: &mut oauth_code::Model,
) -> Result<(), TransitionError> {
    let (next, token_family) = (after_presentation(code.state)?, code.token_family);
    change_state(db, code, next, token_family).await
}

/// Records the grant that a code made.
///
/// # Errors
/// [`TransitionError::AlreadyUsed`] if the code is not in the spent state.
pub async fn redeem_code(
    db: &impl ConnectionTrait,
    code: &mut oauth_code::Model,
    token_family: i64,
) -> Result<(), TransitionError> {
    let next = after_redemption(code.state)?;
    change_state(db, code, next, Some(token_family)).await
}

async fn change_state(
    db: &impl ConnectionTrait,
    code: &mut oauth_code::Model,
    next: CodeState,
    token_family: Option<i64>,
) -> Result<(), TransitionError> {
    let change = oauth_code::Entity::update_owned(code.user_id)
        .col_expr(oauth_code::Column::State, Expr::value(next))
        .col_expr(oauth_code::Column::TokenFamily, Expr::value(token_family));
    // Conditional: the state may have changed since the row was read, as another process may present the same code.
    let own = change.filter(oauth_code::Column::Hash.eq(code.hash.as_slice()));
    check_changed(own.filter(oauth_code::Column::State.eq(code.state)).exec(db).await?.rows_affected)?;
    (code.state, code.token_family) = (next, token_family);
    Ok(())
}

/// Spends a refresh token, for which the next pair is issued, if a condition on its grant holds.
///
/// # Errors
/// [`TransitionError::AlreadyUsed`] if it was spent before, or the condition does not hold.
pub async fn spend_token(
    db: &impl ConnectionTrait,
    token: &mut oauth_token::Model,
    condition: impl IntoCondition,
) -> Result<(), TransitionError> {
    let next = after_exchange(token.state)?;
    // Conditional, as for a code: processes of one client share a refresh token and use it at the same time.
    let change = oauth_token::Entity::update_many().col_expr(oauth_token::Column::State, Expr::value(next));
    let own = change.filter(oauth_token::Column::Hash.eq(token.hash.as_slice())).filter(condition);
    check_changed(own.filter(oauth_token::Column::State.eq(token.state)).exec(db).await?.rows_affected)?;
    token.state = next;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers the threat table (row O3).
    #[test]
    fn code_is_presented_once_and_redeemed_only_then() {
        let presented = [CodeState::Issued, CodeState::Spent, CodeState::Redeemed].map(after_presentation);
        let connected = [CodeState::Issued, CodeState::Spent, CodeState::Redeemed].map(after_redemption);

        assert!(matches!(
            presented,
            [Ok(CodeState::Spent), Err(TransitionError::AlreadyUsed), Err(TransitionError::AlreadyUsed)]
        ));
        assert!(matches!(
            connected,
            [Err(TransitionError::AlreadyUsed), Ok(CodeState::Redeemed), Err(TransitionError::AlreadyUsed)]
        ));
    }

    /// Covers the threat table (row O4).
    #[test]
    fn refresh_token_is_exchanged_once() {
        assert!(matches!(after_exchange(TokenState::Issued), Ok(TokenState::Spent)));
        assert!(matches!(after_exchange(TokenState::Spent), Err(TransitionError::AlreadyUsed)));
    }
}
