//! Operations on uploads (spec.md: POST /uploads; contract.md, section 5).

mod complete;
mod create;
mod show;

pub use complete::CompleteUpload;
pub use create::CreateUpload;
pub use show::ShowUpload;
