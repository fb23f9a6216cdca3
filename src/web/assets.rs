//! The stylesheets, icons and scripts of the web app, embedded in the program and served under a hash of their contents.
//!
//! An address is `/assets/NAME.HASH.EXTENSION`, and never serves other contents, so caches keep it for good. A module names other modules
//! and stylesheets as `"./NAME.js"` and `"./NAME.css"`, in static and dynamic imports alike; these names are replaced by the addresses
//! before its own hash is taken.

use std::collections::HashMap;
use std::io::Write;
use std::sync::LazyLock;

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, VARY};
use actix_web::web::{self, Bytes, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use brotli::CompressorWriter;
use errors::Error;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::http::compression::Coding;
use crate::http::disk_floor::{self, BelowFloor};

/// Bytes of a hash in an address: enough that two versions of a file never have the same one.
const HASH_BYTES: usize = 6;
/// The size of the output buffer of the Brotli encoder.
const BROTLI_BUFFER_BYTES: usize = 8 << 10;
/// The quality of Brotli: each file is compressed once in the life of a process.
const BROTLI_QUALITY: u32 = 9;
/// The window of Brotli, as the logarithm of its bytes: no file is longer.
const BROTLI_WINDOW_BITS: u32 = 18;

/// The content type of stylesheets.
const STYLESHEET: &str = "text/css; charset=utf-8";
/// The content type of scripts.
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file as it is embedded.
struct AssetFile {
    name: &'static str,
    contents: &'static [u8],
}

macro_rules! assets {
    ($($name:literal),+ $(,)?) => {
        &[$(AssetFile { name: $name, contents: include_bytes!(concat!("assets/", $name)) }),+]
    };
}

/// All files. Stylesheets and pictures come first, and a module comes after the modules that it imports, at once or later.
static FILES: &[AssetFile] = assets![
    "add.css",
    "ask.css",
    "base.css",
    "feeds.css",
    "gate.css",
    "home.css",
    "icon-192.png",
    "icon-512.png",
    "icon.svg",
    "icons.svg",
    "key-sheet.css",
    "library.css",
    "media.css",
    "palette.css",
    "pdf.css",
    "projects.css",
    "reader.css",
    "reading.css",
    "search.css",
    "settings.css",
    "shell.css",
    "tokens.css",
    "type.css",
    // Modules.
    "c-copy.js",
    "focus.js",
    "keys-table.js",
    "media-type.js",
    "menu.js",
    "pdf-runs.js",
    "styles.js",
    "toast.js",
    "transcript-rows.js",
    "upload.js",
    "swap.js",
    "offline-list.js",
    "rail-counts.js",
    "live.js",
    "c-add.js",
    "modules.js",
    "dialog-page.js",
    "dialog.js",
    "keys.js",
    "feeds.js",
    "c-pdf.js",
    "c-player.js",
    "c-upload.js",
    "citation-steps.js",
    "c-ask.js",
    "c-palette.js",
    "offline-marks.js",
    "offline.js",
    "selection.js",
    "rows.js",
    "c-list.js",
    "c-tags.js",
    "anchor.js",
    "anchor-offsets.js",
    "reader-caret.js",
    "reader-code.js",
    "reader-footnote.js",
    "reader-marking.js",
    "reader-picture.js",
    "reader-position.js",
    "reader-type.js",
    "c-reader.js",
    "app.js",
    "gate.js",
];

static ASSETS: LazyLock<Assets> = LazyLock::new(Assets::load);
/// The compressed files, by address. Apart from [`ASSETS`], so that the first page does not wait for it.
static COMPRESSED: LazyLock<HashMap<&'static str, CompressedAsset>> = LazyLock::new(|| {
    ASSETS.by_url.iter().map(|(url, asset)| (url.as_str(), CompressedAsset::of(&asset.contents))).collect()
});

/// The files with their addresses.
struct Assets {
    urls: HashMap<&'static str, String>,
    by_url: HashMap<String, Asset>,
}

/// A file as it is served.
struct Asset {
    content_type: &'static str,
    contents: Bytes,
}

/// A file in both codings.
struct CompressedAsset {
    brotli: Bytes,
    gzip: Bytes,
}

impl Assets {
    fn load() -> Self {
        let mut assets = Self { urls: HashMap::new(), by_url: HashMap::new() };
        for file in FILES {
            let contents = assets.served(file);
            let url = hashed_url(file.name, &contents);
            assets.urls.insert(file.name, url.clone());
            assets
                .by_url
                .insert(url, Asset { content_type: content_type(file.name), contents: contents.into() });
        }
        assets
    }

    /// Returns what is served of a file.
    fn served(&self, file: &AssetFile) -> Vec<u8> {
        let text = String::from_utf8_lossy(file.contents);
        match content_type(file.name) {
            STYLESHEET => without_indentation(&without_block_comments(&text)).into_bytes(),
            SCRIPT => without_indentation(&without_line_comments(&self.with_addresses(&text))).into_bytes(),
            _ => file.contents.to_vec(),
        }
    }

    /// Puts the addresses of modules and stylesheets in the places of their names in a script.
    fn with_addresses(&self, script: &str) -> String {
        let mut script = script.to_owned();
        for (name, url) in &self.urls {
            script = script.replace(&format!("\"./{name}\""), &format!("\"{url}\""));
        }
        script
    }
}

impl CompressedAsset {
    fn of(contents: &[u8]) -> Self {
        let mut brotli =
            CompressorWriter::new(Vec::new(), BROTLI_BUFFER_BYTES, BROTLI_QUALITY, BROTLI_WINDOW_BITS);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory does not fail; an empty result is never served, because the plain file is then shorter.
        let written = brotli.write_all(contents).and_then(|()| gzip.write_all(contents));
        let gzip = written.and_then(|()| gzip.finish()).unwrap_or_default();
        Self { brotli: brotli.into_inner().into(), gzip: gzip.into() }
    }
}

/// Removes the comment lines of a script, about a fifth of all lines. No comment follows code on the same line.
fn without_line_comments(script: &str) -> String {
    let is_comment =
        |line: &&str| ["//", "/**", "* ", "*/"].iter().any(|start| line.trim_start().starts_with(start));
    script.lines().filter(|line| !is_comment(line)).collect::<Vec<_>>().join("\n")
}

/// Leaves out the comments of a stylesheet. No string in one has their signs.
fn without_block_comments(style: &str) -> String {
    let mut code = String::with_capacity(style.len());
    let mut rest = style;
    while let Some((before, after)) = rest.split_once("/*") {
        code.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    code.push_str(rest);
    code
}

/// Leaves out empty lines, and the spaces before and after the others. No string in a file goes over a line.
fn without_indentation(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        code.push_str(line);
        code.push('\n');
    }
    code
}

/// Returns the address of a file; `None` if there is no such file.
pub fn asset_url(name: &str) -> Option<&'static str> {
    ASSETS.urls.get(name).map(String::as_str)
}

/// Returns the addresses of all files, which the service worker keeps.
pub fn asset_urls() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|file| asset_url(file.name))
}

/// Mounts /assets, which needs no session.
pub fn mount(config: &mut ServiceConfig) {
    let resource = disk_floor::resource("/assets/{file}", BelowFloor::ServesAll, refused);
    config.service(resource.route(web::get().to(serve)));
}

fn refused(_: &HttpRequest, _: &OperationContext, _: Error) -> HttpResponse {
    HttpResponse::NotFound().finish()
}

async fn serve(request: HttpRequest) -> HttpResponse {
    let Some((url, asset)) = ASSETS.by_url.get_key_value(request.path()) else {
        // Of another version of the program: a page that is still open must not keep the answer.
        return HttpResponse::NotFound().insert_header((CACHE_CONTROL, "no-store")).finish();
    };
    let compressed = COMPRESSED.get(url.as_str());
    let (coding, contents) = match (Coding::accepted_by(&request), compressed) {
        (Some(Coding::Brotli), Some(compressed)) => (Some("br"), &compressed.brotli),
        (Some(Coding::Gzip), Some(compressed)) => (Some("gzip"), &compressed.gzip),
        (_, None) | (None, _) => (None, &asset.contents),
    };
    let is_shorter = !contents.is_empty() && contents.len() < asset.contents.len();
    let (coding, contents) = if is_shorter { (coding, contents) } else { (None, &asset.contents) };
    let mut response = HttpResponse::build(StatusCode::OK);
    response
        .insert_header((CONTENT_TYPE, asset.content_type))
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header((VARY, "Accept-Encoding"))
        .insert_header((
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("same-origin"),
        ));
    if let Some(coding) = coding {
        response.insert_header((CONTENT_ENCODING, coding));
    }
    response.body(contents.clone())
}

fn hashed_url(name: &'static str, contents: &[u8]) -> String {
    let digest = Sha256::digest(contents);
    let hash: String = digest.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    format!("/assets/{stem}.{hash}.{extension}")
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("css") => STYLESHEET,
        Some("js") => SCRIPT,
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("webp") => "image/webp",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_import_by_the_addresses_of_their_files() {
        for asset in ASSETS.by_url.values().filter(|asset| asset.content_type.contains("javascript")) {
            let script = String::from_utf8(asset.contents.to_vec()).unwrap();
            assert!(!script.contains("\"./"), "{script}");
            for part in script.split("\"/assets/").skip(1) {
                let url = format!("/assets/{}", part.split('"').next().unwrap());
                assert!(ASSETS.by_url.contains_key(&url), "{url}");
            }
        }
    }

    #[test]
    fn scripts_name_later_modules_and_stylesheets_by_address() {
        let script = |name| {
            let asset = &ASSETS.by_url[asset_url(name).unwrap()];
            String::from_utf8(asset.contents.to_vec()).unwrap()
        };

        assert!(script("app.js").contains("import(\"/assets/c-palette."));
        assert!(script("c-palette.js").contains("\"/assets/palette."));
    }

    #[test]
    fn comments_and_indentation_are_left_out() {
        let style = "/* a\n   b */\n@layer x {\n  .a { color: red; } /* c */\n}\n";
        let script = "/** a */\nif (b) {\n  // c\n  run(\"//d\");\n}\n";

        let served_style = without_indentation(&without_block_comments(style));
        let served_script = without_indentation(&without_line_comments(script));

        assert_eq!(served_style, "@layer x {\n.a { color: red; }\n}\n");
        assert_eq!(served_script, "if (b) {\nrun(\"//d\");\n}\n");
    }

    #[test]
    fn no_template_string_goes_over_a_line() {
        for file in FILES.iter().filter(|file| file.name.ends_with(".js")) {
            let script = String::from_utf8_lossy(file.contents);
            assert!(script.lines().all(|line| line.matches('`').count().is_multiple_of(2)), "{}", file.name);
        }
    }

    #[test]
    fn compressed_files_are_shorter() {
        for (url, compressed) in COMPRESSED.iter() {
            let plain = ASSETS.by_url[*url].contents.len();
            if plain > 1024 && !url.ends_with(".png") && !url.ends_with(".webp") {
                assert!(compressed.brotli.len() < plain && compressed.gzip.len() < plain, "{url}");
            }
        }
    }
}
