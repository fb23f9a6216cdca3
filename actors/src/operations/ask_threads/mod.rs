//! Questions that the web app keeps: threads of a question and its follow-up questions, with answers that a job prepares.
//!
//! A question is one row, which the request writes together with its job, so the answer comes even if the server restarts meanwhile. It
//! counts as any other answer (contract.md, section 11). The answer keeps its citations as they were; whether a source still has the
//! cited text is looked up when the thread is shown. Nothing of a thread is in the activity view, in a log or in an error.
//!
//! | Bound | |
//! |---|---|
//! | threads of a user | 100: the one asked longest ago is deleted |
//! | questions of a thread | 20 |
//! | picked documents | 50 |

mod answer_job;
mod ask;
mod excerpt;
mod markdown;
mod remove;
mod save;
mod scope;
mod show;
mod state;
mod stored_answer;
mod view;

pub use answer_job::{record_failure, run};
pub use ask::{AskFollowUp, RetryQuestion, StartThread, StartThreadRequest};
pub use excerpt::{CitationExcerpt, ShowCitation, ShowCitationResponse};
pub use markdown::answer_markdown;
pub use remove::{DeleteThread, DeleteThreadResponse};
pub use save::SaveAnswer;
pub use scope::{AskScope, AskScopeText, AskScopeView, ScopeKind};
pub use show::{ListThreads, ListThreadsResponse, ShowThread, ThreadSummary};
pub use state::{AskStateResponse, ShowAskState};
pub use view::{AnswerView, CitationView, QuestionView, SourceState, ThreadResponse, ThreadView};
