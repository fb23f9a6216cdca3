reader-untitled = Untitled
reader-skip = Skip to the text
reader-back = Back to the library (u)
reader-back-feeds = Back to the feeds (u)
reader-left = { $minutes } min left
reader-left-none = Read
reader-outline = Outline
reader-type = Type settings
reader-notes = Highlights and notes
reader-notes-count = { $count ->
    [0] Highlights
    [one] Highlights, 1
   *[other] Highlights, { $count }
}
reader-notes-none = No highlights yet. Select words to make one.
reader-notes-never = The words of notes are not highlighted.
reader-favorite = Favourite (f)
reader-favorite-short = Favourite
reader-unfavorite = No longer a favourite
reader-archive = Archive (e)
reader-archive-short = Archive
reader-unarchive = Take out of the archive
reader-save = Save
reader-original = The original page (v)
reader-original-short = Open the original
reader-more = More
reader-other-form = Open in its own form
reader-lacks = The text is not complete.
reader-refetch = Fetch again
reader-previous-part = Previous part
reader-next-part = Part { $part } of { $parts }
reader-part = Part { $part } of { $parts }
reader-own-notes = Your notes
reader-finish = Finish and archive
reader-ask = Ask about this
reader-mark-these = Highlight these words
reader-mark = Highlight
reader-note = Note
reader-selection = Selection
reader-colors = Colour
reader-color = { $color ->
    [yellow] Yellow ({ $key })
    [green] Green ({ $key })
    [blue] Blue ({ $key })
    [pink] Pink ({ $key })
   *[other] Violet ({ $key })
}
reader-color-name = { $color ->
    [yellow] Yellow
    [green] Green
    [blue] Blue
    [pink] Pink
   *[other] Violet
}
reader-mark-note = Highlight and note (Shift H)
reader-copy-link = Copy a link to these words
reader-ask-words = Ask about these words
reader-ask-quoted = “{ $words }”
reader-project-added = Added to the project as a highlight.
reader-link-copied = The link is copied.
reader-all-notes = All highlights of this document
reader-export-notes = Highlights as Markdown
reader-tag = Add or remove a tag
reader-delete = Delete
reader-moved = moved with the text
reader-moved-title = The text changed, and the words were found elsewhere in it.
reader-lost = not found in the text
reader-edit = Edit
reader-mark-save = Save
reader-mark-delete = Delete
reader-discard = Discard
reader-find = Find it again
reader-find-title = Find a highlight again
reader-find-lead = The text changed, and these words are no longer in it. Choose where the highlight belongs now.
reader-find-none = Nothing like these words
reader-find-none-text = The text has no place with half of them. Keep the highlight as it is, or discard it beside the text.
reader-find-common = { $percent } % of the words are the same
reader-find-place = Highlight this
reader-find-look = Look at the place
reader-find-back = Back to the text
reader-specimen = Aa
reader-presets = Type
reader-preset = { $preset ->
    [page] Page
    [paperback] Paperback
    [large] Large
    [plain] Plain
   *[other] Legible
}
reader-size = Size
reader-leading = Line height
reader-measure = Width
reader-papers = Paper
reader-paper = { $paper ->
    [auto] Auto
    [light] Day
    [linen] Linen
   *[other] Night
}
reader-justified = Justified
reader-type-save = Apply
reader-type-changed = The type settings are saved.
reader-picture = Show the picture
reader-waiting = The text is being fetched.
reader-waiting-text = It appears here as soon as it is there.
reader-empty = There is no text.
reader-empty-text = The source has no words that can be read.
reader-failed = The text could not be read.
reader-retry = Try again
reader-favorite-on = It is a favourite now.
reader-favorite-off = It is no longer a favourite.
reader-archived = Archived.
reader-unarchived = Taken out of the archive.
reader-finished = Finished and archived.
reader-unfinished = It is as it was before.
reader-refetching = The page is being fetched again.
reader-deleted = Deleted. It can be restored for 30 days.
reader-saved = Saved to the library.
reader-saved-before = It was saved before.
reader-marked = Highlighted.
reader-marked-and-saved = Saved to the library and highlighted.
reader-mark-deleted = The highlight is deleted.
reader-mark-changed = The highlight is changed.
reader-mark-placed = The highlight is back in the text.
reader-caret-on = Caret on. Arrows move by word, Shift selects, 1 to 5 highlight, n writes a note, Escape leaves.
reader-caret-off = Caret off.
reader-close = Close
reader-footnote = Footnote
reader-footnote-there = Show it in the text
reader-words = Words to find or highlight
reader-words-find = Find
reader-words-none = “{ $words }” is not in the text.
