//! What the forms of the page of all feeds do.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::entries::{AddMute, RemoveMute};
use actors::operations::feeds::{ChangeFeed, RefreshFeed, RenameFolder, ShowFeed, UnfollowFeed};
use actors::target::Target;
use errors::Error;
use serde_json::json;

use super::manage::show_faults;
use crate::web::filters::visible_text;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::strings::MessageValue::{Number, Text};

/// The page of all feeds.
const MANAGE_PATH: &str = "/feeds/manage";

pub(super) fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/feeds/manage/folder").post(rename_folder).mount(config);
    PageRoute::new("/feeds/manage/mutes").post(add_mute).mount(config);
    PageRoute::new("/feeds/manage/mutes/{id}/remove").post(remove_mute).mount(config);
    PageRoute::new("/feeds/manage/{id}").post(change).mount(config);
    PageRoute::new("/feeds/manage/{id}/refresh").post(refresh).mount(config);
    PageRoute::new("/feeds/manage/{id}/unfollow").post(unfollow).mount(config);
}

/// Changes the title, the folder, and whether pages are fetched.
async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    let form = &request.form;
    let object = json!({
        "title": form.text("title"),
        "folder": form.text("folder"),
        "fullText": form.has("full_text"),
    });
    match request.run_json::<ChangeFeed>(&request.target(), object).await {
        Ok(_) => request.done(MANAGE_PATH, DoneMessage::new("feeds-changed")),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            show_faults(&request, status, faults).await
        }
    }
}

async fn refresh(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run_form::<RefreshFeed>(&request.target(), &[]).await?;
    request.done(MANAGE_PATH, DoneMessage::new("feeds-refreshing-one"))
}

/// Ends following a feed. It can be followed again with the same title and folder.
async fn unfollow(request: PageRequest) -> Result<HttpResponse, Error> {
    let target = request.target();
    let feed = request.run_form::<ShowFeed>(&target, &[]).await?.feed;
    let own_title = request.run_form::<UnfollowFeed>(&target, &[]).await?.title;
    let done = DoneMessage::new("feeds-unfollowed").with("title", Text(visible_text(&feed.title)));
    let mut fields = vec![("url", feed.url.as_str())];
    fields.extend(own_title.as_deref().map(|title| ("title", title)));
    fields.extend(feed.folder.as_deref().map(|folder| ("folder", folder)));
    // Sent as a ticked box is: its name alone would tick it.
    fields.extend(feed.full_text.then_some(("full_text", "true")));
    request.done(MANAGE_PATH, done.undo("/feeds/add", &fields))
}

async fn rename_folder(request: PageRequest) -> Result<HttpResponse, Error> {
    let object = json!({ "folder": request.form.text("folder"), "name": request.form.text("name") });
    match request.run_json::<RenameFolder>(&Target(Vec::new()), object).await {
        Ok(_) => request.done(MANAGE_PATH, DoneMessage::new("feeds-folder-renamed")),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            show_faults(&request, status, faults).await
        }
    }
}

async fn add_mute(request: PageRequest) -> Result<HttpResponse, Error> {
    let mut object = json!({ "words": request.form.text("words") });
    if let (Some(feed), Some(object)) = (request.form.get("feed"), object.as_object_mut()) {
        object.insert("feedId".to_owned(), feed.into());
    }
    match request.run_json::<AddMute>(&Target(Vec::new()), object).await {
        Ok(added) => {
            let count = i64::try_from(added.marked).unwrap_or(i64::MAX);
            let mut done = DoneMessage::new("feeds-muted").with("count", Number(count));
            if let Some(mark) = added.mark_id {
                done = done.undo("/feeds/mark/undo", &[("mark", &mark.to_string()), ("back", MANAGE_PATH)]);
            }
            request.done(MANAGE_PATH, done)
        }
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            show_faults(&request, status, faults).await
        }
    }
}

async fn remove_mute(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run_form::<RemoveMute>(&request.target(), &[]).await?;
    request.done(MANAGE_PATH, DoneMessage::new("feeds-unmuted"))
}
