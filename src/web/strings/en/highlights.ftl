highlights-title = Highlights
highlights-total = { $count ->
    [one] 1 highlight
   *[other] { $count } highlights
}
highlights-export = Export
highlights-export-md = Markdown
highlights-export-csv = Table (CSV)
highlights-export-json = JSON
highlights-color-remove = { $color ->
    [yellow] Yellow, remove
    [green] Green, remove
    [blue] Blue, remove
    [pink] Pink, remove
   *[other] Violet, remove
}
highlights-with-note = With a note
highlights-remove = { $filter }, remove
highlights-one-document = One document
highlights-lost-chip = Lost
highlights-newest = Newest first
highlights-by-text = In the order of the text
highlights-none-yet = None among the newest. Older ones may match.
highlights-no-lost = No lost highlights
highlights-no-lost-text = All highlights stand on their words.
highlights-none = No highlights match
highlights-clear = Clear the filters
highlights-empty = No highlights yet
highlights-empty-text = Open something you saved, select words, and choose a colour. They are listed here with their places.
highlights-empty-act = Open the library
highlights-count = { $count ->
    [one] 1 highlight
   *[other] { $count } highlights
}
highlights-lost-place = Lost
highlights-all-of = All of this document
highlights-older = Older highlights
highlights-beside = Beside the list
highlights-lost = Lost
highlights-lost-text = { $count ->
    [one] One highlight was not found again after its text changed.
   *[other] { $number } highlights were not found again after their texts changed.
}
highlights-lost-look = Look
highlights-documents = On this page
