search-title = Suche
search-title-of = { $query } – Suche
search-label = Bibliothek durchsuchen
search-placeholder = Wörter oder eine Frage
search-mode = Wie Wörter gefunden werden
search-mode-auto = Wörter und Bedeutung
search-mode-exact = Genaue Wörter
search-submit = Suchen
search-count = { $passages ->
    [one] { $passages } Stelle
   *[other] { $passages } Stellen
} in { $documents ->
    [one] { $documents } Dokument
   *[other] { $documents } Dokumenten
}
search-ask = Stattdessen fragen
search-titles = In Titeln suchen
search-clear = Filter entfernen
search-degraded = Nur Textsuche.
search-degraded-text = Die Suche nach Bedeutung ist gerade nicht verfügbar. Stellen, die es mit anderen Worten sagen, werden nicht gefunden.
search-degraded-until = Die KI-Suche pausiert bis { $time }. Stellen, die es mit anderen Worten sagen, werden nicht gefunden.
search-corrected = Dieses Wort kommt nirgends vor. Das sind die Ergebnisse für <b>{ $query }</b>.
search-as-written = Nur nach „{ $query }“ suchen
search-none = Nichts gefunden für „{ $query }“
search-none-text = Weniger Wörter helfen, oder solche, die im Text selbst stehen. Neu Gespeichertes wird gefunden, sobald es gelesen ist.
search-near = Ähnliche Treffer
search-near-all = Alle davon
search-near-text = Dieselben Wörter, ohne Filter und in jeder Form:
search-near-spelling = Andere Schreibweise:
search-near-words = Diese Wörter kommen einzeln vor:
search-by-meaning = Nach Wörtern und Bedeutung suchen
search-pages = Weitere Ergebnisse
search-more = Mehr Stellen
search-shown = { $count } angezeigt
search-start = Eine Stelle nach ihrem Inhalt finden
search-start-text = Beschreiben, woran man sich erinnert. Stellen werden nach Wörtern und nach Bedeutung gefunden: in Seiten, PDFs, Aufnahmen, Notizen und Feeds.
search-filters = Filter
search-where = Wo
search-everywhere = Überall
search-saved = Gespeichert
search-feeds = Feeds
search-kind = Art
search-all-kinds = Alle Arten
search-pages-kind = Seiten
search-pdfs = PDFs
search-audio = Audio
search-video = Video
search-notes = Notizen
search-not-saved = nicht gespeichert
search-lack-processing = wird verarbeitet
search-lack-failed = konnte nicht gelesen werden
search-operators = Suchoperatoren
search-op-phrase = genau diese Wörter
search-op-without = ohne dieses Wort
search-op-tag = mit diesem Schlagwort
search-op-type = von dieser Art: article, pdf, audio, video, note
search-op-state = in diesem Zustand: archived, favorite, saved
search-op-before = davor gespeichert
search-op-after = darin oder später gespeichert
search-fault-state = „{ $word }“: Nach is: steht archived, favorite oder saved.
search-fault-type = „{ $word }“: Nach type: steht article, pdf, audio, video oder note.
search-fault-date = „{ $word }“: Hier steht ein Jahr, ein Monat oder ein Tag, etwa 2025, 2025-03 oder 2025-03-21.
search-fault-tag = „{ $word }“: Hier steht ein Schlagwort mit höchstens 100 Zeichen.
search-fault-exclusion = „{ $word }“: Ein Minus steht vor Wörtern sowie vor is:archived und is:favorite.
search-fault-no-words = Es gibt nur Filter. Mindestens ein Wort zum Suchen ergänzen.
search-fault-address = Diese Adresse hat einen Filter, den es nicht gibt. Ohne ihn noch einmal suchen.
