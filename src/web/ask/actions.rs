//! What the forms of questions and answers do.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operations::ask_threads::{AskFollowUp, DeleteThread, RetryQuestion, SaveAnswer, StartThread};
use actors::target::Target;
use errors::{Error, code};
use serde_json::{Map, Value, json};

use super::{index, thread};
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::sent_forms::FormOutcome;
use crate::web::strings::ToMessageValue;

/// Asks the first question of a thread.
pub async fn ask(request: PageRequest) -> Result<HttpResponse, Error> {
    let create = async {
        let started = request.run_form::<StartThread>(&Target::default(), &["question", "scope"]).await?;
        Ok::<_, Error>(FormOutcome { path: format!("/ask/{}", started.thread.thread_id), message: None })
    };
    match request.create_once(create).await {
        Ok(response) => Ok(response),
        Err(error) => {
            let (status, faults) = refusal(error, &request)?;
            index::page(&request, status, faults).await
        }
    }
}

/// Asks a follow-up question.
pub async fn follow_up(request: PageRequest) -> Result<HttpResponse, Error> {
    let create = async {
        let asked = request.run_form::<AskFollowUp>(&request.target(), &["question"]).await?;
        let number = asked.thread.questions.last().map_or(1, |question| question.number);
        Ok::<_, Error>(FormOutcome {
            path: format!("/ask/{}#q-{number}", asked.thread.thread_id),
            message: None,
        })
    };
    match request.create_once(create).await {
        Ok(response) => Ok(response),
        Err(error) => {
            let (status, faults) = refusal(error, &request)?;
            thread::page(&request, status, faults).await
        }
    }
}

/// Asks a question again that failed.
pub async fn retry(request: PageRequest) -> Result<HttpResponse, Error> {
    let target = question_target(&request)?;
    match request.run_json::<RetryQuestion>(&target, json!({})).await {
        Ok(asked) => Ok(request.redirect(&format!("/ask/{}", asked.thread.thread_id))),
        Err(error) => {
            let (status, faults) = refusal(error, &request)?;
            thread::page(&request, status, faults).await
        }
    }
}

/// Saves an answer as a note of a project.
pub async fn save(request: PageRequest) -> Result<HttpResponse, Error> {
    let mut fields = Map::new();
    if let Some(project) = request.form.get("projectId") {
        fields.insert("projectId".to_owned(), json!(project));
    }
    fields.insert("pinned".to_owned(), json!(request.form.has("pinned")));
    let create = async {
        let target = question_target(&request)?;
        let saved = request.run_json::<SaveAnswer>(&target, Value::Object(fields)).await?;
        let title = saved.note.title.to_message_value();
        let message = Some(DoneMessage::new("ask-saved").with("title", title));
        Ok::<_, Error>(FormOutcome { path: format!("/ask/{}", thread_id(&request)?), message })
    };
    match request.create_once(create).await {
        Ok(response) => Ok(response),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            thread::page(&request, status, faults).await
        }
    }
}

/// Deletes a thread.
pub async fn delete(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run(DeleteThread(request.target().id(0)?)).await?;
    request.done("/ask", DoneMessage::new("ask-deleted"))
}

/// Returns the target of an operation on the question that the form names.
fn question_target(request: &PageRequest) -> Result<Target, Error> {
    let question = request.form.get("questionId").ok_or(Error::not_found())?;
    Ok(Target(vec![thread_id(request)?, question.to_owned()]))
}

fn thread_id(request: &PageRequest) -> Result<String, Error> {
    request.target().text(0)
}

/// Returns the faults of a refused question. When no answers are left or the AI is paused, the page itself says so.
///
/// # Errors
/// The error if the page cannot say it.
fn refusal(error: Error, request: &PageRequest) -> Result<(StatusCode, FormFaults), Error> {
    let spec = error.spec();
    match spec.code {
        code::AI_PAUSED | code::PLAN_LIMIT_REACHED | code::AI_QUOTA_EXCEEDED => {
            let status = StatusCode::from_u16(spec.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
            Ok((status, FormFaults::default()))
        }
        _ => FormFaults::from_error(error, request.locale()),
    }
}
