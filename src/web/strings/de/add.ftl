add-title = Speichern
add-what = Was
add-pages = Seiten
add-note = Notiz
add-files = Dateien
add-urls = Adressen, eine pro Zeile
add-found = Adressen
add-no-address = Füge mindestens eine Adresse ein.
add-left-out = { $count ->
    [one] Eine Adresse ist weggelassen
   *[other] { $count } Adressen sind weggelassen
}: { $most } lassen sich auf einmal speichern. Importiere mehr als Datei.
add-new = neu
add-saved = gespeichert
add-known = schon gespeichert
add-known-since = gespeichert am { $date }
add-refused = abgelehnt
add-refused-line = In dieser Zeile steht keine Adresse, die sich speichern lässt. Schreibe jede ganz aus und in eine eigene Zeile, etwa https://site.example/page.
add-tags = Schlagwörter, durch Kommas getrennt
add-collection = Sammlung
add-no-collection = Keine
add-save = Speichern
add-done = { $count ->
    [one] 1 Seite gespeichert
   *[other] { $count } Seiten gespeichert
}
add-note-text = Notiz
add-note-title = Titel; ohne ihn die erste Zeile
add-note-project = Projekt
add-note-save = Notiz speichern
add-note-done = Die Notiz ist gespeichert
add-note-no-project = Notizen gehören zu einem Projekt
add-note-no-project-text = Lege zuerst ein Projekt an. Auf einer gespeicherten Seite schreibst du Notizen beim Lesen.
add-files-drop = Dateien hier ablegen oder auswählen
add-files-hint = PDF, Audio und Video. Der Text wird gelesen, Aufnahmen werden transkribiert.
add-files-noscript = Ohne Skript werden Dateien auf dieser Seite hochgeladen:
add-file-waiting = wartet
add-file-sending = wird hochgeladen
add-file-done = hochgeladen
add-file-open = Öffnen
add-file-failed = Das Hochladen hat nicht geklappt. Versuche es erneut.
add-file-type = Diese Art von Datei lässt sich nicht lesen.
add-file-full = Für diese Datei ist kein Platz, oder sie ist zu groß für deinen Plan.
add-close = Schließen
