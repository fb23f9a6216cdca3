//! Tables (CSV). The header tells the program that wrote a table; columns may be in any order.

mod instapaper;
mod matter;
mod mymind;
mod pocket;
mod raindrop;
mod readwise;
mod record_reader;
mod table;

use super::format::Format;
use table::{Table, header};

/// The format with the fewest identifying columns comes last.
const TABLES: [&Table; 6] =
    [&pocket::TABLE, &readwise::TABLE, &matter::TABLE, &instapaper::TABLE, &mymind::TABLE, &raindrop::TABLE];

/// Finds the table format of a text, by `wanted` or by its header.
pub fn find_table(text: &str, wanted: Option<Format>) -> Option<&'static Table> {
    let header = header(text);
    let fits = |table: &&Table| match wanted {
        // A format that the user named is believed, if the table has what every row needs.
        Some(format) => format == table.format && header.iter().any(|name| name == "url"),
        None => table.needs.iter().all(|column| header.iter().any(|name| name == column)),
    };
    TABLES.into_iter().find(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::annotation::Annotation;
    use super::super::row::{BookmarkDraft, RowContent};
    use super::*;

    fn only(text: &str, format: Format) -> BookmarkDraft {
        let table = find_table(text, None).unwrap();
        assert_eq!(table.format, format);
        let rows: Vec<_> = table.rows(text).collect();
        let RowContent::Bookmark(save) = rows.first().unwrap().content.clone() else { panic!("{rows:?}") };
        save
    }

    fn fields(save: &BookmarkDraft) -> Value {
        Value::Object(save.fields.clone())
    }

    #[test]
    fn pocket() {
        let text =
            "title,url,time_added,tags,status\n\"One, two\",https://a.example/1,1700000000,a|b c,archive\n";
        assert_eq!(
            fields(&only(text, Format::Pocket)),
            json!({"url": "https://a.example/1", "title": "One, two", "tags": ["a", "b c"], "savedAt": "2023-11-14T22:13:20Z", "archived": true})
        );
    }

    #[test]
    fn instapaper_old_and_new_formats_are_read() {
        let new = "URL,Title,Selection,Folder,Timestamp,Tags\nhttps://a.example/1,One,\"a line\nanother\",Cooking,1700000000,\"[\"\"x\"\"]\"\n";
        let save = only(new, Format::Instapaper);
        assert_eq!(
            (fields(&save), save.folders),
            (
                json!({"url": "https://a.example/1", "title": "One", "tags": ["x"], "notes": "> a line\n> another", "savedAt": "2023-11-14T22:13:20Z"}),
                vec!["Cooking".to_owned()]
            )
        );
        let old = "URL,Title,Selection,Folder\nhttps://a.example/1,One,,Archive\n";
        let save = only(old, Format::Instapaper);
        assert_eq!((&save.fields["archived"], save.folders.len()), (&json!(true), 0));
        let starred =
            only("URL,Title,Selection,Folder\nhttps://a.example/1,One,,Starred\n", Format::Instapaper);
        assert_eq!(starred.fields["favorite"], json!(true));
    }

    #[test]
    fn readwise_reader_feed_entries_are_skipped() {
        let text = "Title,URL,ID,Document tags,Saved date,Reading progress,Location,Seen\n\
                    One,https://a.example/1,x,\"['a', \"\"it's\"\"]\",2023-11-14 22:13:20+00:00,0.5,archive,True\n\
                    Two,https://a.example/2,y,[],2023-11-14 22:13:20+00:00,0,feed,False\n";
        let save = only(text, Format::Readwise);
        assert_eq!(
            (fields(&save), save.progress),
            (
                json!({"url": "https://a.example/1", "title": "One", "tags": ["a", "it's"], "savedAt": "2023-11-14T22:13:20Z", "archived": true}),
                Some(0.5)
            )
        );
        let second = find_table(text, None).unwrap().rows(text).nth(1).unwrap();
        let reason = "is an entry of a feed that was never saved";
        let skipped = RowContent::skipped_with_name(reason, Some("Two".to_owned()));
        assert_eq!((second.line, second.content), (3, skipped));
    }

    #[test]
    fn matter() {
        let text = "Title,Author,Publisher,URL,Tags,Word Count,In Queue,Favorited,Read,Highlight_Count,Last Interaction Date,File Id\n\
                    One,A,P,https://a.example/1,a;b,10,False,True,True,0,2023-11-14T22:13:20Z,\n";
        let save = only(text, Format::Matter);
        assert_eq!(
            (fields(&save), save.progress),
            (
                json!({"url": "https://a.example/1", "title": "One", "tags": ["a", "b"], "savedAt": "2023-11-14T22:13:20Z", "favorite": true, "archived": true}),
                Some(1.0)
            )
        );
    }

    #[test]
    fn mymind() {
        let text = "id,type,title,url,content,note,tags,created\n1,WebPage,One,https://a.example/1,,N,\"a, b\",2023-11-14T22:13:20Z\n2,Note,Two,,words,,,\n";
        assert_eq!(
            fields(&only(text, Format::Mymind)),
            json!({"url": "https://a.example/1", "title": "One", "tags": ["a", "b"], "notes": "N", "savedAt": "2023-11-14T22:13:20Z"})
        );
        let second = find_table(text, None).unwrap().rows(text).nth(1).unwrap().content;
        assert!(
            matches!(&second, RowContent::Note(note) if note.title.as_deref() == Some("Two") && note.body == "words")
        );
    }

    #[test]
    fn raindrop_columns_may_be_in_any_order() {
        let text = "\u{feff}url,created,folder,tags,favorite,note,excerpt,highlights,title,colour of the day\n\
                    https://a.example/1,2023-11-14T22:13:20.000Z,Top/Sub,\"a, b\",true,N,E,\"Highlight:words\nNote:mine\n\nHighlight:more\",One,blue\n";
        let text = text.trim_start_matches('\u{feff}');
        let save = only(text, Format::Raindrop);
        assert_eq!(
            (fields(&save), save.folders, save.annotations),
            (
                json!({"url": "https://a.example/1", "title": "One", "tags": ["a", "b"], "notes": "N", "savedAt": "2023-11-14T22:13:20Z", "favorite": true}),
                vec!["Top".to_owned(), "Sub".to_owned()],
                vec![Annotation::new("words", Some("mine")), Annotation::new("more", None)]
            )
        );
        assert_eq!(find_table(text, None).unwrap().unread_columns(text), ["excerpt", "colour of the day"]);
    }

    #[test]
    fn row_without_a_url_is_named_by_its_title() {
        for columns in [
            "title,url,time_added,tags,status",
            "title,url,document tags,saved date",
            "title,url,selection,folder",
            "title,url,in queue,last interaction date",
            "title,url,type,content,note",
            "title,url",
        ] {
            let text = format!("{columns}\nOne,,,,,,,\n,,,,,,,\n");
            let rows: Vec<_> = find_table(&text, None).unwrap().rows(&text).map(|row| row.content).collect();

            let named = RowContent::skipped_with_name("has no URL", Some("One".to_owned()));
            assert_eq!(rows, [named, RowContent::skipped("has no URL")], "{columns}");
        }
    }

    #[test]
    fn table_without_urls_is_rejected() {
        assert!(find_table("name,age\nx,1\n", None).is_none());
        assert!(find_table("", None).is_none());
    }

    #[test]
    fn rows_after_multi_line_cells_keep_their_lines() {
        let text = "title,url,time_added,tags,status\n\"a\nb\",https://a.example/1,,,\n,https://a.example/2,,,\nshort\n";
        let lines: Vec<_> = find_table(text, None).unwrap().rows(text).map(|row| row.line).collect();
        assert_eq!(lines, [2, 4, 5]);
    }
}
