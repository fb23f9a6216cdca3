highlights-title = Markierungen
highlights-total = { $count ->
    [one] 1 Markierung
   *[other] { $count } Markierungen
}
highlights-export = Exportieren
highlights-export-md = Markdown
highlights-export-csv = Tabelle (CSV)
highlights-export-json = JSON
highlights-color-remove = { $color ->
    [yellow] Gelb, entfernen
    [green] Grün, entfernen
    [blue] Blau, entfernen
    [pink] Rosa, entfernen
   *[other] Violett, entfernen
}
highlights-with-note = Mit Notiz
highlights-remove = { $filter }, entfernen
highlights-one-document = Ein Dokument
highlights-lost-chip = Verloren
highlights-newest = Neueste zuerst
highlights-by-text = In der Reihenfolge des Textes
highlights-none-yet = Keine unter den neuesten. Ältere können passen.
highlights-no-lost = Keine verlorenen Markierungen
highlights-no-lost-text = Alle Markierungen stehen auf ihren Wörtern.
highlights-none = Keine Markierung passt
highlights-clear = Filter entfernen
highlights-empty = Noch keine Markierungen
highlights-empty-text = Öffne etwas Gespeichertes, wähle Wörter aus und dann eine Farbe. Hier stehen sie mit ihren Stellen.
highlights-empty-act = Bibliothek öffnen
highlights-count = { $count ->
    [one] 1 Markierung
   *[other] { $count } Markierungen
}
highlights-lost-place = Verloren
highlights-all-of = Alle dieses Dokuments
highlights-older = Ältere Markierungen
highlights-beside = Neben der Liste
highlights-lost = Verloren
highlights-lost-text = { $count ->
    [one] Eine Markierung wurde nicht wiedergefunden, nachdem sich ihr Text geändert hat.
   *[other] { $number } Markierungen wurden nicht wiedergefunden, nachdem sich ihre Texte geändert haben.
}
highlights-lost-look = Ansehen
highlights-documents = Auf dieser Seite
