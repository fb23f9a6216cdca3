import-title = Import
import-lead = Bring mit, was du bei einem anderen Dienst, in einem Browser oder einem anderen Carrel hast. Zuerst siehst du, was geschehen würde; gespeichert wird erst, wenn du es sagst.
import-file = Datei
import-file-hint = Eine Exportdatei, auch als Zip-Archiv, bis zu { $size }. Ihr Format wird von selbst erkannt.
import-preview = Vorschau
import-formats = Was importiert werden kann
import-formats-list = Lesezeichen jedes Browsers, Pocket, Instapaper, Readwise Reader, Raindrop.io, Omnivore, Karakeep, Linkwarden, wallabag, Pinboard, Matter, mymind, OneTab, Listen von Feeds (OPML), Tabellen mit einer Spalte für Adressen und Exporte von Carrel.
import-earlier = Frühere Importe
import-earlier-none = Noch nichts importiert
import-no-name = Datei ohne Namen
import-rows-count = { $count ->
    [one] Eine Zeile
   *[other] { $count } Zeilen
}
import-stage-reading = Die Datei wird gelesen
import-stage-preview = Wartet auf dich
import-stage-unreadable = Nicht lesbar
import-stage-running = Wird importiert
import-stage-paused = Angehalten
import-stage-done = Importiert
import-stage-failed = Abgebrochen
import-stage-undoing = Wird rückgängig gemacht
import-stage-half-undone = Teilweise rückgängig
import-stage-undone = Rückgängig gemacht
import-lead-reading = Die Datei wird gelesen: { $count ->
    [one] bisher eine Zeile.
   *[other] bisher { $count } Zeilen.
} Nichts wird gespeichert.
import-lead-preview = Noch ist nichts gespeichert. Das ist eine Vorschau.
import-lead-unreadable = Die Datei konnte nicht gelesen werden. Nichts wurde gespeichert.
import-lead-running = Import läuft: { $count ->
    [one] bisher eine Zeile.
   *[other] bisher { $count } Zeilen.
} Du kannst diese Seite schließen.
import-lead-paused = { $count ->
    [one] Angehalten nach einer Zeile. Auch ihre Seite wird erst später abgerufen.
   *[other] Angehalten nach { $count } Zeilen. Auch ihre Seiten werden erst später abgerufen.
}
import-lead-done = { $count ->
    [one] Eine Zeile wurde gelesen.
   *[other] { $count } Zeilen wurden gelesen.
}
import-lead-failed = { $count ->
    [one] Der Import brach nach einer Zeile ab. Was importiert wurde, bleibt.
   *[other] Der Import brach nach { $count } Zeilen ab. Was importiert wurde, bleibt.
}
import-lead-undoing = Was dieser Import angelegt hat, wird gelöscht. Was du seither geändert hast, bleibt.
import-lead-half-undone = Das Rückgängigmachen brach vor dem Ende ab. Starte es noch einmal.
import-lead-undone = Dieser Import wurde rückgängig gemacht.
import-steps = Schritte
import-step-file = Datei
import-step-preview = Vorschau
import-step-import = Import
import-step-report = Bericht
import-other-file = Eine andere Datei wählen
import-sum-new = wären neu
import-sum-have = schon gespeichert, bekommen mehr
import-sum-created = neu
import-sum-updated = schon gespeichert, bekamen mehr
import-sum-skipped = übersprungen
import-sum-texts = Texte fertig
import-pages = Seiten
import-pages-progress = { $ready } fertig, { $waiting ->
    [one] 1 wartet
   *[other] { $waiting } warten
}
import-pages-failed = { $count ->
    [one] Eine Seite konnte nicht abgerufen werden
   *[other] { $count } Seiten konnten nicht abgerufen werden
}
import-undo-deleted = { $count ->
    [one] Ein Eintrag wurde gelöscht.
   *[other] { $count } Einträge wurden gelöscht.
}
import-undo-kept = { $count ->
    [one] Einer bleibt, weil du ihn seither geändert hast oder benutzt.
   *[other] { $count } bleiben, weil du sie seither geändert hast oder benutzt.
}
import-undo-additions = { $count ->
    [one] Was eine Zeile zu einer Seite hinzugefügt hat, die du schon hattest, bleibt.
   *[other] Was { $count } Zeilen zu Seiten hinzugefügt haben, die du schon hattest, bleibt.
}
import-unread-columns = Diese Spalten werden nicht gelesen:
import-rows = Zeilen
import-rows-shown = { $shown } von { $count }
import-rows-filter = Zeilen nach Ergebnis
import-rows-all = Alle
import-rows-created = Neu
import-rows-updated = Schon gespeichert
import-rows-skipped = Übersprungen
import-rows-none = Keine solchen Zeilen
import-rows-region = Zeilen der Datei
import-rows-more = Weitere Zeilen
import-column-line = Zeile
import-column-item = Eintrag
import-column-becomes = Wird
import-row-no-name = (kein Titel)
import-row-created = neu
import-row-updated = schon gespeichert
import-row-skipped = übersprungen
import-row-incidental = gehört zu einer anderen Zeile
import-unlisted = Weitere übersprungene Zeilen, nach Grund:
import-go-preview = Die Zeilen erscheinen innerhalb einer Minute in deiner Bibliothek. Ihre Seiten werden danach abgerufen; du kannst diese Seite schließen. Du kannst den ganzen Import später rückgängig machen.
import-go-done = Rückgängig löscht, was dieser Import angelegt hat, außer dem, was du seither geändert hast.
import-go-moving = Du kannst diese Seite schließen.
import-discard = Verwerfen
import-start = { $count ->
    [one] Eine Zeile importieren
   *[other] { $count } Zeilen importieren
}
import-pause = Anhalten
import-resume = Fortsetzen
import-undo = Import rückgängig machen
import-to-library = Zur Bibliothek
import-format-carrel = Export von Carrel
import-format-jsonl = JSON-Zeilen
import-format-netscape = Lesezeichen in HTML
import-format-opml = Liste von Feeds (OPML)
import-format-pocket = Pocket
import-format-instapaper = Instapaper
import-format-readwise = Readwise Reader
import-format-matter = Matter
import-format-mymind = mymind
import-format-raindrop = Raindrop.io oder eine Tabelle von Adressen
import-format-omnivore = Omnivore
import-format-karakeep = Karakeep
import-format-linkwarden = Linkwarden
import-format-objects = Liste in JSON
import-format-browser = Lesezeichen eines Browsers
import-format-onetab = OneTab oder eine Liste von Adressen
