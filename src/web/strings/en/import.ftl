import-title = Import
import-lead = Bring what you have from another service, a browser or another Carrel. First you see what would happen; nothing is saved before you say so.
import-file = File
import-file-hint = An export file, also as a zip archive, up to { $size }. Its format is found out by itself.
import-preview = Preview
import-formats = What can be imported
import-formats-list = Bookmarks of every browser, Pocket, Instapaper, Readwise Reader, Raindrop.io, Omnivore, Karakeep, Linkwarden, wallabag, Pinboard, Matter, mymind, OneTab, lists of feeds (OPML), tables with a column for addresses, and exports of Carrel.
import-earlier = Earlier imports
import-earlier-none = Nothing imported yet
import-no-name = File without a name
import-rows-count = { $count ->
    [one] One row
   *[other] { $count } rows
}
import-stage-reading = Reading the file
import-stage-preview = Waits for you
import-stage-unreadable = Could not be read
import-stage-running = Importing
import-stage-paused = Paused
import-stage-done = Imported
import-stage-failed = Stopped
import-stage-undoing = Being undone
import-stage-half-undone = Partly undone
import-stage-undone = Undone
import-lead-reading = Reading the file: { $count ->
    [one] one row so far.
   *[other] { $count } rows so far.
} Nothing is saved.
import-lead-preview = Nothing is saved yet. This is a preview.
import-lead-unreadable = The file could not be read. Nothing was saved.
import-lead-running = Importing: { $count ->
    [one] one row so far.
   *[other] { $count } rows so far.
} You can close this page.
import-lead-paused = { $count ->
    [one] Paused after one row. The fetching of its pages waits too.
   *[other] Paused after { $count } rows. The fetching of their pages waits too.
}
import-lead-done = { $count ->
    [one] One row was read.
   *[other] { $count } rows were read.
}
import-lead-failed = { $count ->
    [one] The import stopped after one row. What was imported stays.
   *[other] The import stopped after { $count } rows. What was imported stays.
}
import-lead-undoing = What this import created is being deleted. What you changed since stays.
import-lead-half-undone = The undo stopped before the end. Start it again.
import-lead-undone = This import was undone.
import-steps = Steps
import-step-file = File
import-step-preview = Preview
import-step-import = Import
import-step-report = Report
import-other-file = Choose another file
import-sum-new = would be new
import-sum-have = saved already, get more
import-sum-created = new
import-sum-updated = saved already, got more
import-sum-skipped = skipped
import-sum-texts = texts ready
import-pages = Pages
import-pages-progress = { $ready } ready, { $waiting } waiting
import-pages-failed = { $count ->
    [one] One page could not be fetched
   *[other] { $count } pages could not be fetched
}
import-undo-deleted = { $count ->
    [one] One item was deleted.
   *[other] { $count } items were deleted.
}
import-undo-kept = { $count ->
    [one] One stays, because you changed it since or use it.
   *[other] { $count } stay, because you changed them since or use them.
}
import-undo-additions = { $count ->
    [one] What one row added to a page that you had before stays.
   *[other] What { $count } rows added to pages that you had before stays.
}
import-unread-columns = These columns are not read:
import-rows = Rows
import-rows-shown = { $shown } of { $count }
import-rows-filter = Rows by outcome
import-rows-all = All
import-rows-created = New
import-rows-updated = Saved already
import-rows-skipped = Skipped
import-rows-none = No such rows
import-rows-region = Rows of the file
import-rows-more = More rows
import-column-line = Line
import-column-item = Item
import-column-becomes = Becomes
import-row-no-name = (no title)
import-row-created = new
import-row-updated = saved already
import-row-skipped = skipped
import-row-incidental = goes with another row
import-unlisted = Further skipped rows, by reason:
import-go-preview = The rows appear in your library within a minute. Their pages are fetched afterwards; you can close this page. You can undo the whole import later.
import-go-done = Undo deletes what this import created, except what you have changed since.
import-go-moving = You can close this page.
import-discard = Discard
import-start = { $count ->
    [one] Import one row
   *[other] Import { $count } rows
}
import-pause = Pause
import-resume = Resume
import-undo = Undo the import
import-to-library = To the library
import-format-carrel = Export of Carrel
import-format-jsonl = JSON lines
import-format-netscape = Bookmarks in HTML
import-format-opml = List of feeds (OPML)
import-format-pocket = Pocket
import-format-instapaper = Instapaper
import-format-readwise = Readwise Reader
import-format-matter = Matter
import-format-mymind = mymind
import-format-raindrop = Raindrop.io or a table of addresses
import-format-omnivore = Omnivore
import-format-karakeep = Karakeep
import-format-linkwarden = Linkwarden
import-format-objects = List in JSON
import-format-browser = Bookmarks of a browser
import-format-onetab = OneTab or a list of addresses
