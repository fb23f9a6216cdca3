uploads-title = Uploads und Verarbeitung
uploads-used = { $used } von { $limit }
uploads-drop = PDFs, Audio oder Video hier ablegen
uploads-choose = Dateien wählen
uploads-send = Hochladen
uploads-hint = Bis zu { $size } je Datei. Du kannst diese Seite verlassen, während sie verarbeitet werden.
uploads-too-large = Zu groß. Bis zu { $size } je Datei.
uploads-empty = Diese Datei ist leer.
uploads-wrong-type = Nur PDFs, Audio und Video
uploads-sending = wird hochgeladen
uploads-finishing = fast fertig
uploads-failed = Das Hochladen wurde unterbrochen. Wähle die Datei noch einmal.
uploads-sent = hochgeladen
uploads-stop = Abbrechen
uploads-stopped = abgebrochen
uploads-now = Dateien und Seiten in Arbeit
uploads-transcribing = Wird transkribiert
uploads-fetching = Die Seite wird abgerufen
uploads-extracting = Der Text wird gelesen
uploads-waiting = wartet
uploads-awaiting = Die Datei ist noch nicht angekommen
uploads-next-try = nächster Versuch
uploads-failed-list = Fehlgeschlagene Dateien und Seiten
uploads-no-reason = Der Text konnte nicht gelesen werden
uploads-retry = Erneut versuchen
uploads-retry-all = Alle erneut versuchen
uploads-retried = Es wird noch einmal versucht.
uploads-retried-all = { $count ->
    [one] Ein Text wird noch einmal versucht.
   *[other] { $count } Texte werden noch einmal versucht.
}
uploads-all-failed = Alle fehlgeschlagenen Texte, { $count }
uploads-none-failed = Nichts ist fehlgeschlagen
uploads-done = Hochgeladene Dateien
uploads-in-library = In der Bibliothek
uploads-none = Noch nichts hochgeladen
uploads-expired = Die Datei ist nicht rechtzeitig angekommen
uploads-more = Frühere
uploads-storage = Speicher
uploads-received = { $count ->
    [one] Die Datei ist hochgeladen.
   *[other] { $count } Dateien sind hochgeladen.
}
