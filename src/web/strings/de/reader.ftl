reader-untitled = Ohne Titel
reader-skip = Zum Text springen
reader-back = Zurück zur Bibliothek (u)
reader-back-feeds = Zurück zu den Feeds (u)
reader-left = noch { $minutes } Min.
reader-left-none = Gelesen
reader-outline = Gliederung
reader-type = Schrift
reader-notes = Markierungen und Notizen
reader-notes-count = { $count ->
    [0] Markierungen
    [one] Markierungen, 1
   *[other] Markierungen, { $count }
}
reader-notes-none = Noch keine Markierungen. Wähle Wörter aus, um eine zu setzen.
reader-notes-never = Die Wörter von Notizen werden nicht markiert.
reader-favorite = Favorit (f)
reader-favorite-short = Favorit
reader-unfavorite = Kein Favorit mehr
reader-archive = Archivieren (e)
reader-archive-short = Archivieren
reader-unarchive = Aus dem Archiv nehmen
reader-save = Speichern
reader-original = Die Originalseite (v)
reader-original-short = Original öffnen
reader-more = Mehr
reader-other-form = In eigener Form öffnen
reader-lacks = Der Text ist nicht vollständig.
reader-refetch = Neu abrufen
reader-previous-part = Voriger Teil
reader-next-part = Teil { $part } von { $parts }
reader-part = Teil { $part } von { $parts }
reader-own-notes = Deine Notizen
reader-finish = Abschließen und archivieren
reader-ask = Dazu fragen
reader-mark-these = Diese Wörter markieren
reader-mark = Markieren
reader-note = Notiz
reader-selection = Auswahl
reader-colors = Farbe
reader-color = { $color ->
    [yellow] Gelb ({ $key })
    [green] Grün ({ $key })
    [blue] Blau ({ $key })
    [pink] Rosa ({ $key })
   *[other] Violett ({ $key })
}
reader-color-name = { $color ->
    [yellow] Gelb
    [green] Grün
    [blue] Blau
    [pink] Rosa
   *[other] Violett
}
reader-mark-note = Markieren mit Notiz (Umschalt H)
reader-copy-link = Link zu diesen Wörtern kopieren
reader-ask-words = Zu diesen Wörtern fragen
reader-ask-quoted = „{ $words }“
reader-project-added = Als Markierung zum Projekt hinzugefügt.
reader-link-copied = Der Link ist kopiert.
reader-all-notes = Alle Markierungen dieses Dokuments
reader-export-notes = Markierungen als Markdown
reader-tag = Schlagwort hinzufügen oder entfernen
reader-delete = Löschen
reader-moved = mit dem Text verschoben
reader-moved-title = Der Text hat sich geändert, und die Wörter wurden an anderer Stelle gefunden.
reader-lost = nicht im Text gefunden
reader-edit = Bearbeiten
reader-mark-save = Speichern
reader-mark-delete = Löschen
reader-discard = Verwerfen
reader-find = Wiederfinden
reader-find-title = Eine Markierung wiederfinden
reader-find-lead = Der Text hat sich geändert, und diese Wörter stehen nicht mehr darin. Wähle, wohin die Markierung jetzt gehört.
reader-find-none = Nichts ist diesen Wörtern ähnlich
reader-find-none-text = Keine Stelle des Textes hat auch nur die Hälfte davon. Behalte die Markierung, wie sie ist, oder verwirf sie neben dem Text.
reader-find-common = { $percent } % der Wörter sind gleich
reader-find-place = Dies markieren
reader-find-look = Stelle ansehen
reader-find-back = Zurück zum Text
reader-specimen = Aa
reader-presets = Schrift
reader-preset = { $preset ->
    [page] Buchseite
    [paperback] Taschenbuch
    [large] Groß
    [plain] Schlicht
   *[other] Gut lesbar
}
reader-size = Größe
reader-leading = Zeilenhöhe
reader-measure = Breite
reader-papers = Papier
reader-paper = { $paper ->
    [auto] Auto
    [light] Tag
    [linen] Leinen
   *[other] Nacht
}
reader-justified = Blocksatz
reader-type-save = Anwenden
reader-type-changed = Die Schrift ist gespeichert.
reader-picture = Bild zeigen
reader-waiting = Der Text wird abgerufen.
reader-waiting-text = Er erscheint hier, sobald er da ist.
reader-empty = Es gibt keinen Text.
reader-empty-text = Die Quelle hat keine lesbaren Wörter.
reader-failed = Der Text konnte nicht gelesen werden.
reader-retry = Erneut versuchen
reader-favorite-on = Jetzt ein Favorit.
reader-favorite-off = Kein Favorit mehr.
reader-archived = Archiviert.
reader-unarchived = Aus dem Archiv genommen.
reader-finished = Abgeschlossen und archiviert.
reader-unfinished = Es ist wieder wie zuvor.
reader-refetching = Die Seite wird neu abgerufen.
reader-deleted = Gelöscht. 30 Tage lang kann es wiederhergestellt werden.
reader-saved = In der Bibliothek gespeichert.
reader-saved-before = Es war schon gespeichert.
reader-marked = Markiert.
reader-marked-and-saved = In der Bibliothek gespeichert und markiert.
reader-mark-deleted = Die Markierung ist gelöscht.
reader-mark-changed = Die Markierung ist geändert.
reader-mark-placed = Die Markierung steht wieder im Text.
reader-caret-on = Schreibmarke an. Pfeile gehen wortweise, Umschalt wählt aus, 1 bis 5 markieren, n schreibt eine Notiz, Escape beendet.
reader-caret-off = Schreibmarke aus.
reader-footnote = Fußnote
reader-footnote-there = Im Text zeigen
reader-close = Schließen
reader-words = Wörter suchen oder markieren
reader-words-find = Suchen
reader-words-none = „{ $words }“ steht nicht im Text.
