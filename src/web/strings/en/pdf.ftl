pdf-skip = Skip to the page
pdf-page = Page { $page }
pdf-pages = Pages
pdf-page-before = Page before
pdf-page-next = Next page
pdf-page-number = Page
pdf-of = of { $total }
pdf-smaller = Smaller
pdf-larger = Larger
pdf-fit = Fit to the width
pdf-find = Find in all pages
pdf-find-end = End
pdf-found = { $count ->
    [one] One place
   *[other] { $count } places
}
pdf-found-none = These words are not in the text.
pdf-place = p. { $page }
pdf-as-text = As text
pdf-save-file = Save the file
pdf-fault = The pages cannot be shown.
pdf-textless = { $count ->
    [one] Page { $pages } has no text. It can be looked at, but not searched or marked.
   *[other] Pages { $pages } have no text. They can be looked at, but not searched or marked.
}
pdf-textless-more = and more
pdf-outdated = The words of this page cannot be marked, because the file has changed since its text was read. Fetch it again.
pdf-earlier = Pages up to { $page }
pdf-later = Pages from { $page } on
pdf-notes-on-page = { $count } of { $total } on this page
