//! OAuth clients, from discovery to disconnection: one part of the protocol per file.

mod access_tokens;
mod authorization_request;
mod client_documents;
mod code_exchange;
mod consent;
mod disconnection;
mod discovery;
mod refresh_tokens;
mod registration;
mod two_services;
