//! The numbers of the navigation alone, which a script asks for after a change.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::shell::{ShellCounts, ShowShellCounts};
use askama::Template;
use errors::Error;

use super::page::request::PageRequest;
use super::page::route::PageRoute;
use crate::parts;
use crate::web::filters;

/// The elements of the navigation that show numbers.
#[derive(Template)]
#[template(path = "partials/counts.html")]
struct CountsPart {
    counts: ShellCounts,
}

parts!(CountsPart {});

/// Mounts the numbers.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/counts").get(show).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let counts = request.run(ShowShellCounts).await?;
    request.show(&CountsPart { counts })
}
