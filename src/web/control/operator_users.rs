//! The operator's list of accounts: plans and access, and nothing of what users read.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::operator::users::{ChangeUser, ListUsers, OperatedUser};
use actors::target::Target;
use askama::Template;
use errors::Error;
use values::id::UserId;
use values::plan::Plan;

use super::usage::plan_key;
use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/operator/users").not_stored().get(show).mount(config);
    PageRoute::new("/operator/users/{id}/plan").not_stored().post(change_plan).mount(config);
    PageRoute::new("/operator/users/{id}/disable").not_stored().post(disable).mount(config);
    PageRoute::new("/operator/users/{id}/enable").not_stored().post(enable).mount(config);
}

#[derive(Template)]
#[template(path = "control/operator_users.html", blocks = ["users"])]
struct UsersPage {
    shell: Shell,
    tab: &'static str,
    op_tab: &'static str,
    users: Vec<UserRow>,
    next: Option<String>,
    is_first: bool,
}
parts!(UsersPage { "users" => as_users });

/// An account of the list.
struct UserRow {
    user: OperatedUser,
    /// Whether it is the account of the operator who looks.
    is_own: bool,
    plans: Vec<PlanChoice>,
    /// Bytes of the library and of uploaded files.
    stored_bytes: u64,
}

/// A plan to choose.
struct PlanChoice {
    value: &'static str,
    name: &'static str,
    is_on: bool,
}

async fn show(page: PageRequest) -> Result<HttpResponse, Error> {
    let listed = page.run_query::<ListUsers>(&Target::default(), &["cursor"]).await?;
    let row = |user: OperatedUser| UserRow {
        is_own: user.user_id == page.viewer.caller.user,
        plans: Plan::ALL
            .into_iter()
            .map(|plan| PlanChoice { value: plan.name(), name: plan_key(plan), is_on: plan == user.plan })
            .collect(),
        stored_bytes: user.library_bytes.saturating_add(user.upload_bytes),
        user,
    };
    page.show(&UsersPage {
        shell: page.shell(NavigationEntry::Settings).await?,
        tab: "operator",
        op_tab: "users",
        users: listed.users.into_iter().map(row).collect(),
        next: listed.next_cursor,
        is_first: page.query.get("cursor").is_none(),
    })
}

fn id_of(page: &PageRequest) -> Result<UserId, Error> {
    page.target().id(0)
}

async fn change_plan(page: PageRequest) -> Result<HttpResponse, Error> {
    let changed = page.run_form::<ChangeUser>(&page.target(), &["plan"]).await?;
    done(&page, changed.user, "operator-plan-changed")
}

async fn disable(page: PageRequest) -> Result<HttpResponse, Error> {
    let changed = page.run(ChangeUser::disabled(id_of(&page)?, true)).await?;
    done(&page, changed.user, "operator-user-disabled")
}

async fn enable(page: PageRequest) -> Result<HttpResponse, Error> {
    let changed = page.run(ChangeUser::disabled(id_of(&page)?, false)).await?;
    done(&page, changed.user, "operator-user-enabled")
}

fn done(page: &PageRequest, user: OperatedUser, key: &'static str) -> Result<HttpResponse, Error> {
    let message = DoneMessage::new(key).with("email", MessageValue::Text(user.email));
    page.done(&page.back("/operator/users"), message)
}
