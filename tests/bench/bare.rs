//! A bare actix-web handler that discards the body of every request and responds with the bytes of a file: the baseline of
//! documents.py, uploads.py and assistants.py.
//!
//! `bare FILE PORT` listens on 127.0.0.1 with two workers.

use std::error::Error;

use actix_web::web::{self, Bytes, Data, Payload};
use actix_web::{App, HttpResponse, HttpServer};
use futures_util::StreamExt;

async fn respond(bytes: Data<Bytes>, mut payload: Payload) -> HttpResponse {
    while let Some(Ok(_)) = payload.next().await {}
    HttpResponse::Ok().content_type("application/json").body(bytes.get_ref().clone())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(port)) = (arguments.next(), arguments.next()) else {
        return Err("usage: bare FILE PORT".into());
    };
    let bytes = Data::new(Bytes::from(std::fs::read(file)?));
    let port: u16 = port.parse()?;
    let server =
        HttpServer::new(move || App::new().app_data(bytes.clone()).default_service(web::to(respond)));
    let server = server.workers(2).bind(("127.0.0.1", port))?;
    actix_web::rt::System::new().block_on(server.run())?;
    Ok(())
}
