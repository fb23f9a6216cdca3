//! The table of REST v1 (contract.md, section 6).

use std::marker::PhantomData;

use actors::operations::account::ShowAccount;
use actors::operations::bookmarks::{
    BatchBookmarks, BookmarkExists, ChangeBookmark, CreateBookmark, DeleteBookmark, ListBookmarks,
    RefetchBookmark, RestoreBookmark, ShowBookmark,
};
use actors::operations::collections::{
    ChangeCollection, CreateCollection, DeleteCollection, ListCollections, PutIntoCollection, ShowCollection,
    TakeFromCollection,
};
use actors::operations::entries::{ChangeEntry, ListEntries, MarkEntries, ShowEntry, TranscribeEntry};
use actors::operations::feeds::{
    ChangeFeed, DiscoverFeeds, ExportOpml, FollowFeed, ImportOpml, ListFeeds, RefreshFeed, ShowFeed,
    UnfollowFeed,
};
use actors::operations::highlights::{ChangeHighlight, CreateHighlight, DeleteHighlight, ListHighlights};
use actors::operations::rendition::{ReadHtml, ReadOutline};
use actors::operations::tags::{DeleteTag, ListTags, RenameTag};

use crate::routing::{DescribedRoute, Route, RouteSurface};

/// REST v1 for a surface: REST itself, or the web app.
pub struct V1Routes<S>(PhantomData<S>);

impl<S: RouteSurface> V1Routes<S> {
    /// The routes of the table, in the order of the documentation.
    pub const ROUTES: &'static [DescribedRoute] = &[
        Route::get::<S, ListBookmarks>("/bookmarks").described(
            "listBookmarks",
            "List bookmarks",
            "Lists bookmarks, filtered and sorted. Use `updatedSince` and `includeDeleted` to keep a \
             copy in sync.",
        ),
        Route::post_if_absent::<S, CreateBookmark>("/bookmarks").described(
            "createBookmark",
            "Create bookmark",
            "Saves a URL. If `html` or `text` is given, the page is not fetched. If the URL is saved \
             already, only the tags are added, and the response is 200 with `created: false`.",
        ),
        Route::get::<S, BookmarkExists>("/bookmarks/exists").described(
            "bookmarkExists",
            "Check whether a URL is saved",
            "Checks whether a URL is saved. URLs are compared in normalised form.",
        ),
        Route::post::<S, BatchBookmarks>("/bookmarks/batch").described(
            "batchBookmarks",
            "Change bookmarks in a batch",
            "Creates, changes and deletes up to 100 bookmarks in one request. The operations are \
             independent: if one fails, its result contains the error, and the others are carried \
             out.",
        ),
        Route::get::<S, ShowBookmark>("/bookmarks/{id}").described(
            "showBookmark",
            "Show bookmark",
            "Returns a bookmark.",
        ),
        Route::patch::<S, ChangeBookmark>("/bookmarks/{id}").described(
            "changeBookmark",
            "Change bookmark",
            "Changes the given fields of a bookmark.",
        ),
        Route::delete::<S, DeleteBookmark>("/bookmarks/{id}").described(
            "deleteBookmark",
            "Delete bookmark",
            "Deletes a bookmark. It disappears from lists and search at once, and can be restored for \
             30 days.",
        ),
        Route::post::<S, RestoreBookmark>("/bookmarks/{id}/restore").described(
            "restoreBookmark",
            "Restore bookmark",
            "Restores a deleted bookmark with all its notes, tags and highlights.",
        ),
        Route::post::<S, RefetchBookmark>("/bookmarks/{id}/refetch").accepted().described(
            "refetchBookmark",
            "Fetch bookmark again",
            "Fetches the page again. The old text is kept until the new one is ready.",
        ),
        Route::get::<S, ListHighlights>("/bookmarks/{id}/highlights").described(
            "listHighlights",
            "List highlights",
            "Lists the highlights of a bookmark, in the order of the text.",
        ),
        Route::post::<S, CreateHighlight>("/bookmarks/{id}/highlights").created().described(
            "createHighlight",
            "Create highlight",
            "Highlights a part of the text. `text` must be what the document contains at the offsets.",
        ),
        Route::patch::<S, ChangeHighlight>("/highlights/{id}").described(
            "changeHighlight",
            "Change highlight",
            "Changes the given fields of a highlight. If the text or an offset changes, `text` must \
             be what the document contains at the offsets.",
        ),
        Route::delete::<S, DeleteHighlight>("/highlights/{id}").described(
            "deleteHighlight",
            "Delete highlight",
            "Deletes a highlight.",
        ),
        Route::get::<S, ReadHtml>("/documents/{id}/html").described(
            "readHtml",
            "Read HTML",
            "Returns a document as sanitised HTML for reading. The text of saved pages is third-party \
             content.",
        ),
        Route::get::<S, ReadOutline>("/documents/{id}/outline").described(
            "readOutline",
            "Read outline",
            "Lists the headings of a document, each with its offset in the text and its page in a PDF.",
        ),
        Route::get::<S, ListTags>("/tags").described(
            "listTags",
            "List tags",
            "Lists the tags of all bookmarks, sorted by name.",
        ),
        Route::patch::<S, RenameTag>("/tags/{name}").described(
            "renameTag",
            "Rename tag",
            "Renames a tag on every bookmark. If a tag of the new name exists, the two are merged.",
        ),
        Route::delete::<S, DeleteTag>("/tags/{name}").described(
            "deleteTag",
            "Delete tag",
            "Removes a tag from every bookmark.",
        ),
        Route::get::<S, ListCollections>("/collections").described(
            "listCollections",
            "List collections",
            "Lists collections, oldest first.",
        ),
        Route::post::<S, CreateCollection>("/collections").created().described(
            "createCollection",
            "Create collection",
            "Creates a collection.",
        ),
        Route::get::<S, ShowCollection>("/collections/{id}").described(
            "showCollection",
            "Show collection",
            "Returns a collection.",
        ),
        Route::patch::<S, ChangeCollection>("/collections/{id}").described(
            "changeCollection",
            "Change collection",
            "Changes the given fields of a collection. A collection cannot be nested in itself.",
        ),
        Route::delete::<S, DeleteCollection>("/collections/{id}").described(
            "deleteCollection",
            "Delete collection",
            "Deletes a collection. Its bookmarks and the collections nested in it are kept.",
        ),
        Route::put::<S, PutIntoCollection>("/collections/{id}/bookmarks/{bookmarkId}").described(
            "putIntoCollection",
            "Add bookmark to collection",
            "Adds a bookmark to a collection. Idempotent.",
        ),
        Route::delete::<S, TakeFromCollection>("/collections/{id}/bookmarks/{bookmarkId}").described(
            "takeFromCollection",
            "Remove bookmark from collection",
            "Removes a bookmark from a collection. Idempotent.",
        ),
        Route::get::<S, ListFeeds>("/feeds").described(
            "listFeeds",
            "List feeds",
            "Lists the followed feeds.",
        ),
        Route::post_if_absent::<S, FollowFeed>("/feeds").described(
            "followFeed",
            "Follow feed",
            "Follows a feed, or the feed that a page links to. If it is followed already, the \
             response is 200.",
        ),
        Route::post::<S, DiscoverFeeds>("/feeds/discover").described(
            "discoverFeeds",
            "Discover feeds",
            "Finds the feeds at a URL without following them.",
        ),
        Route::get::<S, ExportOpml>("/feeds/opml").described(
            "exportOpml",
            "Export OPML",
            "Exports all followed feeds as OPML.",
        ),
        Route::post::<S, ImportOpml>("/feeds/opml").accepted().described(
            "importOpml",
            "Import OPML",
            "Follows every feed of an OPML document. The feeds are fetched in the background.",
        ),
        Route::get::<S, ShowFeed>("/feeds/{id}").described("showFeed", "Show feed", "Returns a feed."),
        Route::patch::<S, ChangeFeed>("/feeds/{id}").described(
            "changeFeed",
            "Change feed",
            "Changes the given fields of a feed.",
        ),
        Route::delete::<S, UnfollowFeed>("/feeds/{id}").described(
            "unfollowFeed",
            "Unfollow feed",
            "Unfollows a feed. Its entries are deleted; bookmarks of them are kept.",
        ),
        Route::post::<S, RefreshFeed>("/feeds/{id}/refresh").accepted().described(
            "refreshFeed",
            "Refresh feed",
            "Fetches a feed as soon as possible.",
        ),
        Route::get::<S, ListEntries>("/entries").described(
            "listEntries",
            "List entries",
            "Lists the entries of the followed feeds, newest first.",
        ),
        Route::post::<S, MarkEntries>("/entries/read").described(
            "markEntries",
            "Mark entries as read",
            "Marks entries as read: all, or those of one feed, or those before a time.",
        ),
        Route::get::<S, ShowEntry>("/entries/{id}").described("showEntry", "Show entry", "Returns an entry."),
        Route::patch::<S, ChangeEntry>("/entries/{id}").described(
            "changeEntry",
            "Change entry",
            "Marks an entry as read or unread, starred or not.",
        ),
        Route::post::<S, TranscribeEntry>("/entries/{id}/transcribe").accepted().described(
            "transcribeEntry",
            "Transcribe entry",
            "Transcribes the recording of an entry. The transcript becomes the text of the entry. The \
             response is 409 if the entry has no recording.",
        ),
        Route::get::<S, ShowAccount>("/user").described(
            "showAccount",
            "Show account",
            "Returns the account that the API key belongs to.",
        ),
    ];
}
