//! An item in the request that adds items to a project: an object with exactly one of several fields that name what is added.

use std::borrow::Cow;

use deserr::{Deserr, IntoValue, MergeWithError, Value, ValuePointerRef, take_cf_content};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value as Json, json};
use values::id::{BookmarkId, EntryId, HighlightId, NoteId};
use values::kind::ItemRole;

use library::projects::{ItemRef, NewItem};
use validation::{Choice, Faults, Id, ReadMode, UrlText, remove_null, request};

request! {
    /// An item of a project: exactly one of the ids and `url`, and its role.
    struct ItemRequest {
        /// A bookmark.
        bookmark_id?: Id<BookmarkId>,
        /// A highlight.
        highlight_id?: Id<HighlightId>,
        /// A note.
        note_id?: Id<NoteId>,
        /// An entry of a followed feed.
        entry_id?: Id<EntryId>,
        /// A URL. It is saved to the library first.
        url?: UrlText,
        /// The item's role in the project. Default `source`.
        role?: Choice<ItemRole>,
    }
}

/// The fields of [`ItemRequest`] of which exactly one must be given: all but its role.
const ALTERNATIVES: [&str; 5] = ["bookmarkId", "highlightId", "noteId", "entryId", "url"];

/// An item that names exactly one object. A field that is `null` does not count as given.
#[derive(Debug)]
pub struct ItemObject(NewItem);

impl ItemObject {
    /// Returns the object to add and its role.
    pub fn into_inner(self) -> NewItem {
        self.0
    }
}

impl<M: ReadMode> Deserr<Faults<M>> for ItemObject {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        let Value::Map(members) = value else { return Err(Faults::new(location, "must be an object")) };
        let json = Json::from(Value::<V>::Map(members));
        let is_given = |name: &&&str| json.get(**name).is_some_and(|json| !json.is_null());
        // Counted before the fields are read: a field with an invalid value is given too.
        let is_one_given = ALTERNATIVES.iter().filter(is_given).count() == 1;
        let fault = || Faults::new(location, format!("must have exactly one of {}", ALTERNATIVES.join(", ")));
        match ItemRequest::deserialize_from_value(json.into_value(), location) {
            Ok(request) => read_item(request).map(Self).ok_or_else(fault),
            Err(faults) if is_one_given => Err(faults),
            Err(faults) => Err(take_cf_content(Faults::<M>::merge(Some(fault()), faults, location))),
        }
    }
}

/// Returns the item of a request; `None` if it names no object or several.
fn read_item(request: ItemRequest) -> Option<NewItem> {
    // No field is left out here, so that the compiler asks what a new one means.
    let ItemRequest { bookmark_id, highlight_id, note_id, entry_id, url, role } = request;
    let refs = [
        bookmark_id.map(|id| ItemRef::Bookmark(id.into_inner())),
        highlight_id.map(|id| ItemRef::Highlight(id.into_inner())),
        note_id.map(|id| ItemRef::Note(id.into_inner())),
        entry_id.map(|id| ItemRef::Entry(id.into_inner())),
        url.map(|url| ItemRef::Url(url.into_inner())),
    ];
    let mut refs = refs.into_iter().flatten();
    let (Some(item), None) = (refs.next(), refs.next()) else { return None };
    Some(NewItem { item, role: role.map_or(ItemRole::Source, Choice::into_inner) })
}

impl JsonSchema for ItemObject {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ItemObject".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let whole = ItemRequest::json_schema(generator);
        let shapes = ALTERNATIVES.map(|chosen| shape(whole.clone(), chosen));
        json_schema!({ "oneOf": shapes })
    }
}

/// Returns the schema of an item in which this alternative is given. The others may only be `null`.
fn shape(mut item: Schema, chosen: &str) -> Schema {
    let properties = item.get_mut("properties").and_then(Json::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if name == chosen {
            remove_null(property);
        } else if ALTERNATIVES.contains(&name.as_str()) {
            *property = json!({ "type": "null" });
        }
    }
    item.insert("required".to_owned(), json!([chosen]));
    item.insert("title".to_owned(), json!(chosen));
    item
}

#[cfg(test)]
mod tests {
    use validation::{Invalid, List, read_json, schema_of};

    use super::*;

    request! {
        struct ItemListRequest {
            items: List<ItemObject, 1, 100>,
        }
    }

    const ID: &str = "01890000-0000-7000-8000-000000000000";

    fn read_items(items: &str) -> Result<Vec<NewItem>, Invalid> {
        let body = format!(r#"{{"items": {items}}}"#);
        let request = read_json::<ItemListRequest>(body.as_bytes())?;
        Ok(request.items.map(ItemObject::into_inner))
    }

    fn faults(items: &str) -> Vec<(String, String)> {
        let faults = read_items(items).unwrap_err().faults;
        faults.into_iter().map(|fault| (fault.field, fault.reason)).collect()
    }

    #[test]
    fn item_names_one_object_and_is_a_source_by_default() {
        let items = read_items(&format!(
            r#"[{{"noteId": "{ID}"}}, {{"url": "https://a.example", "role": "background", "entryId": null}}]"#
        ));

        let note = NewItem { item: ItemRef::Note(ID.parse().unwrap()), role: ItemRole::Source };
        let url = NewItem { item: ItemRef::Url("https://a.example".into()), role: ItemRole::Background };
        assert_eq!(items.unwrap(), [note, url]);
    }

    #[test]
    fn item_that_names_none_or_two_objects_is_a_fault() {
        let found = faults(&format!(
            r#"[{{}}, {{"noteId": "{ID}"}}, {{"noteId": "{ID}", "url": "https://a.example"}}, {{"role": "source"}}]"#
        ));

        let fields: Vec<_> = found.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(fields, ["items[0]", "items[2]", "items[3]"]);
        for (_, reason) in &found {
            assert_eq!(reason, "must have exactly one of bookmarkId, highlightId, noteId, entryId, url");
        }
    }

    #[test]
    fn faults_of_fields_are_reported_beside_that_of_their_item() {
        let found = faults(r#"[7, {"role": "x"}, {"noteId": "x"}, {"noteId": "x", "url": 7, "zap": 1}]"#);

        let fields: Vec<_> = found.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "items[0]",
                "items[1]",
                "items[1].role",
                "items[2].noteId",
                "items[3]",
                "items[3].noteId",
                "items[3].url",
                "items[3].zap",
            ]
        );
        assert_eq!(found[0].1, "must be an object");
    }

    #[test]
    fn alternatives_are_all_fields_but_the_role() {
        let schema = schema_of::<ItemRequest>();
        let mut names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        names.retain(|name| *name != "role");

        assert_eq!(names, ALTERNATIVES);
    }

    #[test]
    fn schema_has_a_shape_for_each_alternative() {
        let schema = schema_of::<ItemListRequest>();
        let shapes = schema["properties"]["items"]["items"]["oneOf"].as_array().unwrap();

        let titles: Vec<_> = shapes.iter().map(|shape| &shape["title"]).collect();
        assert_eq!(titles, ALTERNATIVES);
        let note = &shapes[2];
        assert_eq!((&note["required"], &note["additionalProperties"]), (&json!(["noteId"]), &json!(false)));
        let id = json!({ "type": "string", "format": "uuid", "description": "A note." });
        assert_eq!(note["properties"]["noteId"], id);
        assert_eq!(note["properties"]["url"], json!({ "type": "null" }));
        assert_eq!(note["properties"]["role"]["anyOf"][0]["type"], "string");
    }
}
