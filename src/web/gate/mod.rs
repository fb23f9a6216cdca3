//! The pages before the session: set-up, sign-in, sign-up, and sign-out.

mod accounts;
mod session;

use actix_web::web::ServiceConfig;

use super::page::route::PageRoute;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    let set_up = PageRoute::new("/setup").not_stored();
    set_up.get_public(accounts::show_set_up).post_public(accounts::set_up).mount(config);
    let sign_up = PageRoute::new("/sign-up").not_stored();
    sign_up.get_public(accounts::show_sign_up).post_public(accounts::sign_up).mount(config);
    let sign_in = PageRoute::new("/sign-in").not_stored();
    sign_in.get_public(session::show_sign_in).post_public(session::sign_in).mount(config);
    PageRoute::new("/sign-out").not_stored().post_public(session::sign_out).mount(config);
}
