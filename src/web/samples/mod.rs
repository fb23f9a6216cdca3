//! The texts of the sample project under their addresses, so that "the original page" leads somewhere. They are our own, and public.

use actix_web::HttpResponse;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::ServiceConfig;
use errors::Error;
use library::sample_project::SAMPLE_TEXTS;

use super::page::public::PublicRequest;
use super::page::route::PageRoute;

/// Mounts the texts.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/samples/{name}").get_public(show).mount(config);
}

async fn show(request: PublicRequest) -> Result<HttpResponse, Error> {
    let name = request.http.match_info().query("name");
    let text = SAMPLE_TEXTS.iter().find(|text| text.name == name).ok_or(Error::not_found())?;
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/html; charset=utf-8")).body(text.html))
}
