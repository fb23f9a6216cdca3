pdf-skip = Zur Seite springen
pdf-page = Seite { $page }
pdf-pages = Seiten
pdf-page-before = Vorige Seite
pdf-page-next = Nächste Seite
pdf-page-number = Seite
pdf-of = von { $total }
pdf-smaller = Kleiner
pdf-larger = Größer
pdf-fit = An die Breite anpassen
pdf-find = In allen Seiten suchen
pdf-find-end = Beenden
pdf-found = { $count ->
    [one] Eine Stelle
   *[other] { $count } Stellen
}
pdf-found-none = Diese Wörter stehen nicht im Text.
pdf-place = S. { $page }
pdf-as-text = Als Text
pdf-save-file = Datei speichern
pdf-fault = Die Seiten können nicht gezeigt werden.
pdf-textless = { $count ->
    [one] Seite { $pages } hat keinen Text. Sie kann angesehen, aber nicht durchsucht oder markiert werden.
   *[other] Die Seiten { $pages } haben keinen Text. Sie können angesehen, aber nicht durchsucht oder markiert werden.
}
pdf-textless-more = und weitere
pdf-outdated = Die Wörter dieser Seite können nicht markiert werden, weil sich die Datei geändert hat, seit ihr Text gelesen wurde. Rufe sie neu ab.
pdf-earlier = Seiten bis { $page }
pdf-later = Seiten ab { $page }
pdf-notes-on-page = { $count } von { $total } auf dieser Seite
