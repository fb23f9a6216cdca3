//! The pages by which users control access to their library, and operators the server: API keys, assistants, connected apps, activity,
//! usage, lost passwords, and the operator's pages.

mod activity;
mod activity_csv;
mod activity_filter;
mod apps;
mod assistant_texts;
mod chart;
mod connect;
mod key_forms;
mod key_page;
mod key_secret;
mod keys;
mod operator;
mod operator_users;
mod operator_work;
mod recovery;
pub mod scope_names;
mod step_texts;
mod usage;

use actix_web::web::ServiceConfig;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    config
        .configure(recovery::mount)
        .configure(keys::mount)
        .configure(key_forms::mount)
        .configure(key_page::mount)
        .configure(connect::mount)
        .configure(apps::mount)
        .configure(activity_csv::mount)
        .configure(activity::mount)
        .configure(usage::mount)
        .configure(operator::mount)
        .configure(operator_users::mount)
        .configure(operator_work::mount);
}
