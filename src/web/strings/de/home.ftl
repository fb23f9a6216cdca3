home-empty-title = Noch nichts gespeichert
home-empty-text = Speichere eine erste Seite, oder importiere, was du bei einem anderen Dienst hast.
home-save = Eine Seite speichern
home-import = Importieren
home-time-for = Zeit für
home-continue = Weiterlesen
home-all-started = Alle angefangenen, { $count }
home-stopped-after = Du hast aufgehört nach
home-go-on = Weiter
home-left = noch { $minutes } Min.
home-read = { $percent } gelesen
home-heard = { $percent } gehört
home-new = Neu in deinen Feeds
home-new-since = { $count ->
    [one] 1 seit { $visit }
   *[other] { $number } seit { $visit }
}
home-all-unread = Alle ungelesenen, { $count }
home-saved = Zuletzt gespeichert
home-transcribing = Wird transkribiert
home-reading = Wird gelesen und erschlossen
home-retry = Erneut versuchen
home-retry-of = Erneut versuchen: { $title }
home-retried = Es wird gleich noch einmal versucht.
home-see = Warum?
home-beside = Daneben
home-all = Alle
home-highlight = Aus deinen Markierungen
home-another = Eine andere
home-marked = markiert im
home-sources = { $count ->
    [one] 1 Quelle
   *[other] { $count } Quellen
}
visit-today = heute, { $time }
visit-night = der Nacht auf { $weekday }
visit-morning = { $weekday } Vormittag
visit-afternoon = { $weekday } Nachmittag
visit-evening = { $weekday } Abend
welcome-title = Willkommen
welcome-name = Willkommen, <bdi>{ $name }</bdi>
welcome-lead = Vier Wege zum Anfang. Nimm sie in beliebiger Reihenfolge, oder überspringe alle.
welcome-done = Erledigt:
welcome-address = Adresse
welcome-save = Eine erste Seite speichern
welcome-save-text = Füge ihre Adresse ein. Carrel behält den Text, so dass er lesbar und durchsuchbar bleibt, auch wenn die Seite verschwindet.
welcome-save-button = Speichern
welcome-save-done = Sie ist in deiner Bibliothek und kann durchsucht werden.
welcome-saved = Gespeichert. Der Text ist gleich bereit.
welcome-to-library = Bibliothek öffnen
welcome-import = Importieren, was du hast
welcome-import-text = Pocket, Instapaper, Readwise, Raindrop, Omnivore, wallabag, Karakeep, Linkwarden, Lesezeichen eines Browsers und mehr. Du siehst eine Vorschau, bevor etwas gespeichert wird.
welcome-import-done = Du hast eine Datei importiert. Weitere sind möglich.
welcome-import-button = Datei wählen
welcome-follow = Einem Feed folgen
welcome-follow-text = Füge die Adresse einer beliebigen Seite ein; Carrel findet ihre Feeds.
welcome-follow-button = Feeds suchen
welcome-follow-done = Du folgst einem Feed. Neue Einträge kommen von selbst.
welcome-connect = Deinen Assistenten verbinden
welcome-connect-text = Claude, ChatGPT oder dein Editor finden hier Stellen und belegen mit ihnen, was sie sagen.
welcome-connect-done = Eine App oder ein Schlüssel hat deine Bibliothek benutzt.
welcome-connect-button = Verbinden
welcome-extension = Browser-Erweiterung
welcome-sample-ready = Ein Beispielprojekt liegt bereit:
welcome-sample-name = { $count ->
    [one] Wie Gezeiten entstehen, mit 1 Quelle
   *[other] Wie Gezeiten entstehen, mit { $count } Quellen
}
welcome-sample-ask = Stell ihm eine Frage.
welcome-sample-remove = Entfernen
welcome-sample-removed = Das Beispielprojekt und seine Texte sind entfernt.
welcome-sample-added = Das Beispielprojekt ist in deiner Bibliothek.
welcome-sample-text = Möchtest du Suche und Fragen zuerst ausprobieren? Ein Beispielprojekt hat fünf kurze englische Texte über die Gezeiten.
welcome-sample-add = Hinzufügen
welcome-end = Zu meiner Bibliothek
welcome-placeholder = https://
