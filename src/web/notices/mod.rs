//! Notices: what an app or a key did for the first time, with the button that ends its access at once.

mod row;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::apps::DisconnectApp;
use actors::operations::keys::RevokeKey;
use actors::operations::notices::{ListNotices, MarkAllNoticesRead, MarkNoticeRead};
use actors::target::Target;
use askama::Template;
use errors::Error;

use super::page::done::DoneMessage;
use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::shell::{NavigationEntry, Shell};
use crate::parts;
use crate::web::filters;
use crate::web::strings::MessageValue;

pub(in crate::web) use row::NoticeRow;

/// The notices of a user.
#[derive(Template)]
#[template(path = "notices/notices.html")]
struct NoticesPage {
    shell: Shell,
    unread: u64,
    rows: Vec<NoticeRow>,
    next_cursor: Option<String>,
}

parts!(NoticesPage {});

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/notices").not_stored().get(show).mount(config);
    PageRoute::new("/notices/read").post(mark_all_read).mount(config);
    PageRoute::new("/notices/{id}/read").post(mark_read).mount(config);
    PageRoute::new("/notices/{id}/end").post(end_access).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let list = request.run_query::<ListNotices>(&Target(Vec::new()), &["cursor"]).await?;
    let shell = request.shell(NavigationEntry::Notices).await?;
    request.show(&NoticesPage {
        shell,
        unread: list.unread,
        rows: list.notices.into_iter().map(|view| NoticeRow::new(view, request.locale())).collect(),
        next_cursor: list.next_cursor,
    })
}

async fn mark_all_read(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run(MarkAllNoticesRead).await?;
    request.done("/notices", DoneMessage::new("notices-all-read"))
}

async fn mark_read(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run_form::<MarkNoticeRead>(&request.target(), &[]).await?;
    Ok(request.redirect(&request.back("/notices")))
}

/// Revokes the key or disconnects the app of a notice. One that has ended already is as good as ended now.
async fn end_access(request: PageRequest) -> Result<HttpResponse, Error> {
    let subject = Target(vec![request.form.text("subject").to_owned()]);
    let (ended, key) = match request.form.text("kind") {
        "key" => (request.run_form::<RevokeKey>(&subject, &[]).await.map(drop), "notices-key-revoked"),
        "app" => {
            (request.run_form::<DisconnectApp>(&subject, &[]).await.map(drop), "notices-app-disconnected")
        }
        _ => return Err(Error::invalid("kind", "must be one of key, app")),
    };
    match ended {
        Ok(()) | Err(Error::NotFound(_)) => {}
        Err(error) => return Err(error),
    }
    match request.run_form::<MarkNoticeRead>(&request.target(), &[]).await {
        Ok(_) | Err(Error::NotFound(_)) => {}
        Err(error) => return Err(error),
    }
    let name = MessageValue::Text(filters::visible_text(request.form.text("name")));
    request.done(&request.back("/notices"), DoneMessage::new(key).with("name", name))
}
