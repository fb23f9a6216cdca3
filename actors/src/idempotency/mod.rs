//! Idempotency-Key: a repeated request gets the stored response of the first one (contract.md, sections 2 and 11).
//!
//! A claim is a row without a response. It is settled with the response that was sent, or given up if the request may be
//! retried. While its request runs, the claim has a heartbeat; a claim whose process crashed can be claimed again after a
//! minute. Responses are stored for 24 hours.
//!
//! A response is stored after its change was committed, so it can be lost: the process crashes in between, or the storage
//! fails. Therefore the transaction that makes the change also marks the claim as committed
//! ([`library::owned_transaction::begin_request`]): both are kept or neither. A committed claim is never released and does
//! not expire within its 24 hours. Once its request has ended, a repeated request is refused with 409. An uncommitted claim
//! has changed nothing, and the request may be retried. A request of several transactions (a batch, a list of feeds) counts
//! as committed with the first of them.
//!
//! The storage of an account is bounded ([`StoredResponseBounds`]), and the guarantee that no change is made twice is given up last.
//! A response that is too large is stored without its body, and so are the oldest ones of an account that uses too many
//! bytes: a repeated request is refused with 409 then, because it was carried out. Only keys beyond the maximum number expire
//! early, the oldest first.
//!
//! All ages are measured by the wall clock, which may be set. If it jumps by more than a minute in either direction, a
//! running request counts as crashed until its next heartbeat. No change is made twice by that: an uncommitted claim that is
//! claimed again can no longer be committed, and a committed one is not released. After a jump back, responses are stored
//! longer by as much. A jump forward of more than 24 hours expires them: the clean-up removes responses and commit marks
//! alike, and the same request is carried out again.

mod bounds;
mod claim;
mod claim_end;
mod cleanup;
mod key;
mod row_state;
mod store;
mod stored_response;

pub use bounds::StoredResponseBounds;
pub use claim::{Claim, ClaimOutcome};
pub use key::IdempotencyKey;
pub use store::Idempotency;
pub use stored_response::StoredResponse;
