//! Many requests, large responses and several servers at the same time.

mod bookmark_lists;
mod counters;
mod full_use;
mod idle;
mod large_responses;
mod lock_order;
mod query_plans;
mod search_load;
mod small_library;
mod two_services;
