//! The pages of the library, without script: the list with its filters, changes with undo, trash, collections, tags, saved searches.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, Server};

const BOOKMARKS: &str = "/app/api/library/bookmarks";
/// A title that must stand in a page as text.
const HOSTILE_TITLE: &str = "</a><script>alert(1)</script>\u{202e}gulls";

/// Saves a page with a text, and returns its id.
async fn save(session: &Client, page: Value) -> String {
    let mut page = page;
    page["text"] = json!("A text of a few words.");
    let saved = session.post(BOOKMARKS, page).await;
    saved.data(201)["bookmark"]["bookmarkId"].as_str().unwrap().to_owned()
}

/// Asks for a page, which has one heading of the first level, no inline style and no inline script.
async fn page(session: &Client, path: &str) -> String {
    let page = session.get(path).await;
    assert_eq!(page.status, 200, "{path}: {}", page.text);
    assert_eq!(page.text.matches("<h1").count(), 1, "{path}");
    for forbidden in [" style=", "<style", "<script>", "onclick="] {
        assert!(!page.text.contains(forbidden), "{path} has {forbidden}");
    }
    page.text
}

/// The parts of a page before each of which stands this text, up to a quotation mark.
fn values_after<'a>(html: &'a str, text: &str) -> Vec<&'a str> {
    html.split(text).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// Posts a form, and returns the page to which it leads.
async fn submit(session: &Client, path: &str, fields: &[(&str, &str)]) -> String {
    let answer = session.post_form(path, fields).await;
    assert_eq!(answer.status, 303, "{path}: {}", answer.text);
    let location = answer.header("location").to_owned();
    page(session, &location).await
}

/// Posts the form of the toast of a page, and returns the page to which it leads.
async fn undo(session: &Client, html: &str) -> String {
    let token = values_after(html, r#"name="token" value=""#)[0];
    let (_, form) = html.split_once(r#"name="token""#).unwrap();
    let back = values_after(form, r#"name="back" value=""#)[0];
    submit(session, "/library/undo", &[("token", token), ("back", &back.replace("&#38;", "&"))]).await
}

#[actix_web::test]
async fn library_shows_what_its_address_says() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    assert!(page(&session, "/library").await.contains(r#"href="/imports/new""#));
    save(
        &session,
        json!({ "url": "https://a.example/gulls", "title": "Gulls at noon", "tags": ["tides & mud"] }),
    )
    .await;
    save(&session, json!({ "url": "https://b.example/mud", "title": "Mud", "archived": true })).await;
    save(&session, json!({ "url": "https://c.example/x", "title": HOSTILE_TITLE })).await;
    save(&other, json!({ "url": "https://a.example/theirs", "title": "Not mine" })).await;

    let all = page(&session, "/library").await;
    for shown in ["Gulls at noon", "Mud", "gulls", "/library?tag=tides+%26+mud", "a.example"] {
        assert!(all.contains(shown), "{shown}");
    }
    assert!(!all.contains("Not mine") && !all.contains("<script>alert") && !all.contains('\u{202e}'));
    for (query, shown, hidden) in [
        ("state=archived", "Mud", "Gulls at noon"),
        ("tag=tides+%26+mud&view=cards", "Gulls at noon", "b.example"),
        ("q=-is:archived+noon&view=titles", "Gulls at noon", "b.example"),
        ("site=b.example&sort=title&surprise=1", "Mud", "Gulls at noon"),
    ] {
        let filtered = page(&session, &format!("/library?{query}")).await;
        assert!(filtered.contains(shown) && !filtered.contains(hidden), "{query}");
    }
    let nothing = page(&session, "/library?state=failed").await;
    assert!(nothing.contains(r#"class="empty""#) && nothing.contains(r#"href="/library""#));
}

#[actix_web::test]
async fn fault_of_a_query_is_shown_beside_it() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let faulty = session.get("/library?q=tides+is:gone").await;

    assert_eq!(faulty.status, 422);
    assert!(faulty.text.contains("character 10") && faulty.text.contains(r#"value="tides is:gone""#));
    assert!(faulty.text.contains(r#"aria-invalid="true""#), "{}", faulty.text);
}

#[actix_web::test]
async fn minutes_of_a_text_are_those_of_the_user() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = key.save_text("https://a.example/words", &"word ".repeat(300)).await;
    key.wait_for(&saved, "ready").await;
    assert!(page(&session, "/library").await.contains("<span>2\u{a0}min</span>"));

    session.patch("/app/api/settings", json!({ "wordsPerMinute": 100 })).await.data(200);

    assert!(page(&session, "/library").await.contains("<span>3\u{a0}min</span>"));
}

#[actix_web::test]
async fn unfinished_query_of_the_palette_finds_no_titles() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    for (query, search) in [("%22tides", "/search?q=%22tides"), ("tag:", "/search?q=tag%3A")] {
        let palette = page(&session, &format!("/go?q={query}")).await;

        assert!(palette.contains(&format!("href=\"{search}\"")), "{palette}");
    }
}

#[actix_web::test]
async fn part_of_the_library_has_its_elements_alone() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    save(&session, json!({ "url": "https://a.example/gulls", "title": "Gulls" })).await;

    let part = session.get_part("/library", "library-results library-facets").await;

    assert!(part.text.starts_with("<div id=\"library-results\""), "{}", part.text);
    assert!(part.text.contains("id=\"library-facets\"") && !part.text.contains("<nav"), "{}", part.text);
}

#[actix_web::test]
async fn list_that_is_asked_for_alone_has_its_number() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    save(&session, json!({ "url": "https://a.example/gulls", "title": "Gulls" })).await;
    save(&session, json!({ "url": "https://a.example/herons", "title": "Herons" })).await;

    let list = session.get_part("/library?q=gulls", "library-results").await;
    let whole = session.get_part("/library", "main").await;

    assert!(list.text.contains("Gulls") && list.text.contains(r#"data-total="1""#), "{}", list.text);
    assert!(whole.text.contains("Herons") && whole.text.contains(r#"id="facet-sites""#), "{}", whole.text);
}

#[actix_web::test]
async fn selection_over_pages_is_changed_and_undone() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    for number in 0..60 {
        let url = format!("https://a.example/{number}");
        save(&session, json!({ "url": url, "title": format!("Page {number}") })).await;
    }
    let first = page(&session, "/library").await;
    let next = values_after(&first, r#"<a class="btn" href=""#)[0].replace("&#38;", "&");
    let second = page(&session, &next).await;
    let picked = |html: &str| -> Vec<String> {
        let ids = values_after(html, r#"type="checkbox" name="id" value=""#);
        ids.into_iter().map(str::to_owned).collect()
    };
    assert_eq!((picked(&first).len(), picked(&second).len()), (50, 10));
    let archived = async || {
        let listed = session.get(&format!("{BOOKMARKS}?archived=true&limit=100")).await;
        listed.data(200)["bookmarks"].as_array().unwrap().len()
    };

    let ids = [picked(&first)[3].clone(), picked(&second)[4].clone()];
    let some = submit(
        &session,
        "/library/bulk",
        &[("id", &ids[0]), ("id", &ids[1]), ("action", "archive"), ("back", "/library?view=titles")],
    )
    .await;
    assert!(some.contains("2 archived"), "{some}");
    assert_eq!(archived().await, 2);
    undo(&session, &some).await;
    assert_eq!(archived().await, 0);

    let all = submit(&session, "/library/bulk", &[("all", "1"), ("q", "page"), ("action", "archive")]).await;
    assert!(all.contains("60 archived"));
    assert_eq!(archived().await, 60);
    let undone = undo(&session, &all).await;
    assert!(undone.contains("Undone"));
    assert_eq!(archived().await, 0);
}

#[actix_web::test]
async fn selection_gets_a_tag_and_a_collection() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let id = save(&session, json!({ "url": "https://a.example/gulls", "title": "Gulls" })).await;
    let bookmark = async || session.get(&format!("{BOOKMARKS}/{id}")).await.data(200)["bookmark"].clone();

    let asked = session.post_form("/library/bulk", &[("id", &id), ("action", "tag")]).await;
    assert_eq!(asked.status, 200);
    assert!(
        asked.text.contains(&format!(r#"name="id" value="{id}""#)) && asked.text.contains("name=\"tag\"")
    );
    let blank = session.post_form("/library/bulk", &[("id", &id), ("action", "tag"), ("tag", " ")]).await;
    assert_eq!(blank.status, 422);
    submit(&session, "/library/bulk", &[("id", &id), ("action", "tag"), ("tag", "#tides")]).await;
    assert_eq!(bookmark().await["tags"], json!(["tides"]));
    submit(&session, "/library/bulk", &[("id", &id), ("action", "tag"), ("tag", "tides"), ("remove", "1")])
        .await;
    assert_eq!(bookmark().await["tags"], json!([]));

    let tree = submit(&session, "/collections", &[("name", "Winter reading")]).await;
    let shelf = values_after(&tree, r#"href="/collections/"#)[0].to_owned();
    submit(&session, "/library/bulk", &[("id", &id), ("action", "collection"), ("to", &shelf)]).await;
    assert_eq!(bookmark().await["collectionIds"], json!([shelf]));
    let list = page(&session, &format!("/collections/{shelf}")).await;
    assert!(list.contains("Winter reading") && list.contains("Gulls"));
    let out = [("id", id.as_str()), ("action", "uncollect"), ("collection", shelf.as_str())];
    submit(&session, "/library/bulk", &out).await;
    assert_eq!(bookmark().await["collectionIds"], json!([]));
    assert!(
        submit(&session, "/library/bulk", &[("action", "archive")]).await.contains("Nothing was selected")
    );
}

#[actix_web::test]
async fn deleted_bookmark_is_restored_from_the_trash() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    let id = save(&session, json!({ "url": "https://a.example/gulls", "title": "Gulls" })).await;

    submit(&session, "/library/bulk", &[("id", &id), ("action", "delete")]).await;
    assert!(!page(&session, "/library").await.contains("Gulls"));
    assert!(page(&session, "/library/trash").await.contains("Gulls"));
    assert!(!page(&other, "/library/trash").await.contains("Gulls"));
    submit(&other, "/library/trash", &[("id", &id)]).await;
    let empty = submit(&session, "/library/trash", &[("id", &id)]).await;

    assert!(empty.contains("1 restored") && !empty.contains("Gulls"), "{empty}");
    assert!(page(&session, "/library").await.contains("Gulls"));
}

#[actix_web::test]
async fn collection_is_moved_and_deleted() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    submit(&session, "/collections", &[("name", "Waders")]).await;
    let tree = submit(&session, "/collections", &[("name", "Auks")]).await;
    let ids: Vec<String> =
        values_after(&tree, r#"<a href="/collections/"#).into_iter().map(str::to_owned).collect();
    let [auks, waders] = ids.as_slice() else { panic!("{tree}") };

    let edit = format!("/collections/{auks}/edit");
    let moved = submit(
        &session,
        &edit,
        &[("name", "Small auks"), ("description", "Of the north"), ("parent", waders)],
    )
    .await;
    assert!(moved.contains("Small auks") && moved.contains("Of the north"));
    assert!(page(&session, "/collections").await.contains("depth-1"));
    let nested = session
        .post_form(&format!("/collections/{waders}/edit"), &[("name", "Waders"), ("parent", auks)])
        .await;
    assert_eq!(nested.status, 422);
    assert_eq!(session.post_form(&edit, &[("name", " ")]).await.status, 422);
    for path in [format!("/collections/{auks}"), edit.clone()] {
        assert_eq!(other.get(&path).await.status, 404, "{path}");
    }
    let delete = format!("/collections/{auks}/delete");
    assert_eq!(other.post_form(&delete, &[]).await.status, 404);
    assert!(!submit(&session, &delete, &[]).await.contains("Small auks"));
}

#[actix_web::test]
async fn collection_is_searched_and_asked_from_its_page() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let tree = submit(&session, "/collections", &[("name", "Waders")]).await;
    let id = values_after(&tree, r#"<a href="/collections/"#)[0].to_owned();

    let shelf = page(&session, &format!("/collections/{id}")).await;

    let (search, ask) = (format!("/search?collection={id}"), format!("/ask?scope=collection:{id}"));
    assert!(shelf.contains(&format!("href=\"{search}\"")) && shelf.contains(&format!("href=\"{ask}\"")));
    assert!(page(&session, &search).await.contains(&format!("name=\"collection\" value=\"{id}\"")));
    assert!(page(&session, &ask).await.contains(&format!("value=\"collection:{id}\" selected")));
}

#[actix_web::test]
async fn deleted_collection_comes_back_with_its_contents() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    let id = save(&session, json!({ "url": "https://a.example/gulls", "title": "Gulls" })).await;
    let create = async |fields: Value| {
        let created = session.post("/app/api/library/collections", fields).await.data(201).clone();
        created["collection"]["collectionId"].as_str().unwrap().to_owned()
    };
    let birds = create(json!({ "name": "Birds" })).await;
    let waders = create(json!({ "name": "Waders", "description": "Long legs", "parentId": birds })).await;
    let knots = create(json!({ "name": "Knots", "parentId": waders })).await;
    submit(&session, "/library/bulk", &[("id", &id), ("action", "collection"), ("to", &waders)]).await;

    let deleted = submit(&session, &format!("/collections/{waders}/delete"), &[]).await;
    let token = values_after(&deleted, r#"name="token" value=""#)[0].to_owned();
    let undo = [("token", token.as_str()), ("back", "/collections")];
    submit(&other, "/library/undo", &undo).await;
    assert_eq!(session.get(&format!("/collections/{waders}")).await.status, 404);
    let undone = submit(&session, "/library/undo", &undo).await;

    assert!(undone.contains("Undone") && undone.contains("depth-2"), "{undone}");
    let list = page(&session, &format!("/collections/{waders}")).await;
    assert!(list.contains("Gulls") && list.contains("Waders"), "{list}");
    let shown = session.get(&format!("/app/api/library/collections/{knots}")).await.data(200).clone();
    assert_eq!(shown["collection"]["parentId"], json!(waders));
    let again = submit(&session, "/library/undo", &undo).await;
    assert!(again.contains("can no longer be undone"), "{again}");
}

#[actix_web::test]
async fn tags_are_merged_and_put_back_by_forms() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    save(&session, json!({ "url": "https://a.example/1", "tags": ["harbour", "mud"] })).await;
    save(&session, json!({ "url": "https://a.example/2", "tags": ["harbours"] })).await;

    let tags = page(&session, "/tags").await;
    assert!(tags.contains("look like the same tag"), "{tags}");
    assert!(!page(&session, "/tags?q=mu").await.contains("harbour</a>"));
    let fields =
        [("name", "harbour"), ("into", "harbours"), ("action", "merge"), ("back", "/tags?sort=name")];
    let merged = submit(&session, "/tags", &fields).await;
    assert!(!merged.contains("value=\"harbour\""), "{merged}");
    let undone = undo(&session, &merged).await;
    assert!(undone.contains("value=\"harbour\""));
    let faulty = session.post_form("/tags", &[("name", "mud"), ("into", " "), ("action", "merge")]).await;
    assert_eq!(faulty.status, 422);
    let deleted = submit(&session, "/tags", &[("name", "mud"), ("action", "delete")]).await;
    assert!(!deleted.contains("value=\"mud\""));
}

#[actix_web::test]
async fn saved_search_is_pinned_beside_every_page() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;

    let form = page(&session, "/saved-searches/new?q=is:unread").await;
    assert!(form.contains(r#"value="is:unread""#));
    let list = submit(
        &session,
        "/saved-searches/new",
        &[("name", "To read"), ("query", "is:unread"), ("pinned", "1")],
    )
    .await;
    assert!(list.contains("To read"), "{list}");
    let faulty = session.post_form("/saved-searches/new", &[("name", "x"), ("query", "is:gone")]).await;
    assert_eq!(faulty.status, 422);
    assert!(faulty.text.contains("character 4"), "{}", faulty.text);
    let home = page(&session, "/").await;
    assert!(home.contains("To read") && home.contains("/library?q=is%3Aunread"), "{home}");
    assert!(!page(&other, "/").await.contains("To read"));
    let searches = page(&session, "/saved-searches").await;
    let id = values_after(&searches, r#"name="id" value=""#)[0];
    assert_eq!(other.get(&format!("/saved-searches/{id}")).await.status, 404);
    submit(&session, "/saved-searches", &[("id", id), ("action", "delete")]).await;
    assert!(!page(&session, "/").await.contains("To read"));
}

#[actix_web::test]
async fn addresses_are_saved_known_or_refused() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    save(&session, json!({ "url": "https://known.example/", "title": "Known before" })).await;

    let shared =
        page(&session, "/add?title=Gulls&text=Look:+https%3A%2F%2Fa.example%2Fgulls+here&tags=tides").await;
    assert!(shared.contains("https://a.example/gulls") && shared.contains(r#"value="tides""#));
    let preview = "/add?urls=https://known.example/%0Ahttps://known.example/%23top%0Ahttps://new.example/\
                   %0Ahttp://192.168.1.20/";
    let preview = session.get_part(preview, "add-found").await;
    for (state, count) in [("Known before", 2), ("saved already", 2), (">new<", 1), ("refused", 1)] {
        assert_eq!(preview.text.matches(state).count(), count, "{state}: {}", preview.text);
    }
    let urls = "https://new.example/\nhttps://known.example/\nhttp://192.168.1.20/manual";
    let saved =
        session.post_form("/add", &[("urls", urls), ("tags", "#tides, two words"), ("what", "pages")]).await;
    assert_eq!(saved.status, 200, "{}", saved.text);
    for state in ["saved already", "refused", ">saved<"] {
        assert!(saved.text.contains(state), "{state}: {}", saved.text);
    }
    let listed = session.get(&format!("{BOOKMARKS}?tag=two%20words")).await;
    assert_eq!(listed.data(200)["bookmarks"].as_array().unwrap().len(), 2);
    let broken = "https://two.example/\nfoo bar\nhttps://exa mple.com/x";
    let partly = session.post_form("/add", &[("urls", broken), ("what", "pages")]).await;
    assert_eq!((partly.status, partly.text.matches(">refused<").count()), (200, 2), "{}", partly.text);
    let listed = session.get(BOOKMARKS).await.data(200)["bookmarks"].to_string();
    assert!(listed.contains("https://two.example/") && !listed.contains("https://exa"), "{listed}");
    let one = submit(&session, "/add", &[("urls", "https://one.example/"), ("what", "pages")]).await;
    assert!(one.contains("1 page saved"), "{one}");
    assert_eq!(session.post_form("/add", &[("urls", "no address"), ("what", "pages")]).await.status, 422);
}

#[actix_web::test]
async fn note_is_written_into_a_project() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    assert!(page(&session, "/add?what=note").await.contains(r#"href="/projects/new""#));
    let project = session.post("/app/api/projects", json!({ "name": "Herons" })).await;
    let project = project.data(201)["project"]["id"].as_str().unwrap().to_owned();

    let note = [("what", "note"), ("note", "# Questions\n\nWhere?"), ("project", project.as_str())];
    let answer = session.post_form("/add", &note).await;

    assert_eq!(answer.status, 303, "{}", answer.text);
    let notes = session.get(&format!("/app/api/projects/{project}/notes")).await.data(200).clone();
    assert_eq!(notes["notes"][0]["title"], "Questions");
    assert!(page(&session, "/add?text=Only+words").await.contains("Only words"));
}

#[actix_web::test]
async fn too_many_tags_are_one_fault_of_their_field() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let tags = (0..201).map(|n| format!("t{n}")).collect::<Vec<_>>().join(",");
    let urls = "https://a.example/one\nhttps://a.example/two";

    let refused = session.post_form("/add", &[("urls", urls), ("tags", &tags), ("what", "pages")]).await;

    assert_eq!(refused.status, 422, "{}", refused.text);
    assert_eq!(refused.text.matches("Use 0 to 200 entries.").count(), 1, "{}", refused.text);
    assert!(refused.text.contains("https://a.example/two") && !refused.text.contains("class=\"found-urls\""));
}

#[actix_web::test]
async fn pasted_page_becomes_the_text_of_a_bookmark() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (session, key) = (user.sign_in().await, user.full_key().await);
    let other = server.user(Plan::Pro).await.sign_in().await;
    let saved = key.save_text("https://a.example/gulls", "An old text.").await;
    let ready = key.wait_for(&saved, "ready").await;
    let (id, document) = (ready["bookmarkId"].as_str().unwrap(), ready["documentId"].as_str().unwrap());

    let form = format!("/library/paste/{id}");
    assert!(page(&session, &form).await.contains("<textarea"));
    assert_eq!(other.get(&form).await.status, 404);
    assert_eq!(other.post_form(&form, &[("content", "Theirs.")]).await.status, 404);
    assert_eq!(session.post_form(&form, &[("content", " ")]).await.status, 422);
    let html = "<html><body><article><h1>Gulls</h1><p>Gulls shout at noon in the harbour.</p></article></body></html>";
    assert_eq!(session.post_form(&form, &[("content", html)]).await.status, 303);

    crate::support::eventually("the pasted text is read", async || {
        let text = session.get(&format!("/app/api/library/documents/{document}")).await;
        text.body.to_string().contains("shout at noon").then_some(())
    })
    .await;
}

#[actix_web::test]
async fn title_and_notes_of_a_bookmark_are_changed() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (session, key) = (user.sign_in().await, user.full_key().await);
    let other = server.user(Plan::Pro).await.sign_in().await;
    let saved = key.save_text("https://a.example/gulls", "Gulls shout at noon.").await;
    let ready = key.wait_for(&saved, "ready").await;
    let (id, document) = (ready["bookmarkId"].as_str().unwrap(), ready["documentId"].as_str().unwrap());
    let form = format!("/library/edit/{id}");
    let fields = [("title", "Loud gulls"), ("notes", "Read at the harbour.")];

    assert_eq!(other.get(&form).await.status, 404);
    assert_eq!(other.post_form(&form, &fields).await.status, 404);
    assert_eq!(session.post_form(&form, &[("title", " "), ("notes", "")]).await.status, 422);
    assert_eq!(session.post_form(&form, &fields).await.status, 303);

    let (shown, edited) = (page(&session, &form).await, page(&session, &format!("/read/{document}")).await);
    assert!(
        shown.contains("value=\"Loud gulls\"") && shown.contains(">Read at the harbour.</textarea>"),
        "{shown}"
    );
    assert!(edited.contains("Loud gulls") && edited.contains("Read at the harbour."), "{edited}");
}

#[actix_web::test]
async fn help_shows_the_query_language() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let help = page(&session, "/help/search").await;

    assert!(help.contains("is:unread") && help.contains("/library?q=tag%3Atides"), "{help}");
}

#[actix_web::test]
async fn library_links_first_collections_and_saved_searches() {
    let server = Server::start().await;
    let (session, other) =
        (server.user(Plan::Pro).await.sign_in().await, server.user(Plan::Pro).await.sign_in().await);
    save(&session, json!({ "url": "https://a.example/gulls", "title": "Gulls" })).await;
    save(&other, json!({ "url": "https://a.example/gulls", "title": "Gulls" })).await;
    let outer = session.post("/app/api/library/collections", json!({ "name": "Shore & sea" })).await;
    let outer = outer.data(201)["collection"]["collectionId"].clone();
    let inner = json!({ "name": "Waders", "parentId": outer });
    session.post("/app/api/library/collections", inner).await.data(201);
    let first = session.post("/app/api/library/collections", json!({ "name": "avocets" })).await;
    let first = first.data(201)["collection"]["collectionId"].clone();
    let search = json!({ "name": "To read", "query": "is:unread tag:gulls" });
    session.post("/app/api/saved-searches", search).await.data(201);

    let (shown, foreign) = (page(&session, "/library").await, page(&other, "/library").await);

    let linked = [first.as_str().unwrap(), outer.as_str().unwrap()];
    assert_eq!(values_after(&shown, r#"<li><a href="/collections/"#), linked);
    assert!(shown.contains("Shore &#38; sea") && !shown.contains("Waders"));
    assert!(shown.contains(r#"<li><a href="/library?q=is%3Aunread%20tag%3Agulls">"#), "{shown}");
    assert!(!foreign.contains("Shore") && !foreign.contains("To read"));
}
