//! How a page is declared, gets its request, and answers.
//!
//! | To | Use |
//! |---|---|
//! | declare an address with its handlers | [`route::PageRoute`] |
//! | know who asks, run operations, read query and form | [`request::PageRequest`]; without a session [`public::PublicRequest`] |
//! | answer with a page, or with the parts that a script asked for | [`render::PageView`], [`parts!`](crate::parts) |
//! | send the user on with a message, and a way back | [`done::DoneMessage`] |
//! | let a form that is answered with a secret be sent once | [`tickets::FormTickets`] |
//! | let a form that is sent twice create one thing | [`request::PageRequest::create_once`] |
//! | show what is wrong with a form | [`faults::FormFaults`] |
//! | show the navigation around a page | [`shell::Shell`] |
//!
//! An error that a handler returns becomes a designed page ([`errors`]).

pub mod done;
pub mod errors;
pub mod faults;
pub mod fields;
pub mod headers;
pub mod public;
pub mod render;
pub mod request;
pub mod route;
pub mod sent_forms;
pub mod shell;
pub mod state;
pub mod tickets;
