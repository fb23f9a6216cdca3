//! The request to admit a call.

use values::id::UserId;
use values::kind::MeteredSurface;

use crate::auth::caller::Principal;

/// A call to be admitted, with the limits that apply to it.
#[derive(Clone, Debug)]
pub struct RateLimitRequest {
    /// The key or grant whose hour counts.
    pub bucket: Principal,
    /// Calls of the bucket within an hour.
    pub hourly: u32,
    /// The user whose day counts.
    pub user: UserId,
    /// The surface: REST and MCP are counted apart.
    pub surface: MeteredSurface,
    /// Calls of the user on the surface within a day.
    pub daily: u32,
    /// The number by which the call counts in the day.
    pub weight: u32,
}
