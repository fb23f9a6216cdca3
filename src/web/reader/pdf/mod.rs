//! PDFs page by page: pictures with a text layer that carries the offsets of the text, so that highlights and places are the same as
//! everywhere else.

mod figure;
mod fragment;
mod show;

pub use fragment::show_page;
pub use show::show;
