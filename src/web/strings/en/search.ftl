search-title = Search
search-title-of = { $query } – Search
search-label = Search your library
search-placeholder = Words, or a question
search-mode = How words are matched
search-mode-auto = Words and meaning
search-mode-exact = Exact words
search-submit = Search
search-count = { $passages ->
    [one] { $passages } passage
   *[other] { $passages } passages
} in { $documents ->
    [one] { $documents } document
   *[other] { $documents } documents
}
search-ask = Ask this instead
search-titles = Look in titles
search-clear = Clear the filters
search-degraded = Text matching only.
search-degraded-text = Search by meaning is not available at the moment, so passages that say it in other words are not found.
search-degraded-until = AI search is paused until { $time }, so passages that say it in other words are not found.
search-corrected = Nothing has this word, so these are the results for <b>{ $query }</b>.
search-as-written = Search only for “{ $query }”
search-none = Nothing found for “{ $query }”
search-none-text = Try fewer words, or words that the text itself would use. What you just saved is found as soon as it is read.
search-near = Close matches
search-near-all = All of these
search-near-text = The same words, without filters and in any form:
search-near-spelling = Did you mean:
search-near-words = These words are found alone:
search-by-meaning = Search by words and meaning
search-pages = More results
search-more = More passages
search-shown = { $count } shown
search-start = Find a passage by its content
search-start-text = Describe what you remember. Passages are found by their words and by their meaning, in pages, PDFs, recordings, notes and feeds.
search-filters = Filter
search-where = Where
search-everywhere = Everywhere
search-saved = Saved
search-feeds = Feeds
search-kind = Kind
search-all-kinds = All kinds
search-pages-kind = Pages
search-pdfs = PDFs
search-audio = Audio
search-video = Video
search-notes = Notes
search-not-saved = not saved
search-lack-processing = being processed
search-lack-failed = could not be read
search-operators = Search operators
search-op-phrase = exactly these words
search-op-without = without this word
search-op-tag = with this tag
search-op-type = of this kind: article, pdf, audio, video, note
search-op-state = in this state: archived, favorite, saved
search-op-before = saved before
search-op-after = saved in it, or later
search-fault-state = “{ $word }”: after is: write archived, favorite or saved.
search-fault-type = “{ $word }”: after type: write article, pdf, audio, video or note.
search-fault-date = “{ $word }”: write a year, a month or a day, such as 2025, 2025-03 or 2025-03-21.
search-fault-tag = “{ $word }”: write a tag of at most 100 characters.
search-fault-exclusion = “{ $word }”: a minus works before words, and before is:archived and is:favorite.
search-fault-no-words = There are only filters. Add at least one word to search for.
search-fault-address = This address has a filter that does not exist. Search again without it.
