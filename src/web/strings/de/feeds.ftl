feeds-unread = Ungelesen
feeds-all = Alle
feeds-starred = Mit Stern
feeds-unread-entry = Ungelesen:
feeds-no-folder = Ohne Ordner
feeds-failing = gestört
feeds-manage = Feeds verwalten
feeds-manage-one = Verwalten
feeds-open-tree = Feeds wählen
feeds-which = Welche Einträge
feeds-refresh = Alle jetzt abrufen
feeds-refreshing = { $count ->
    [0] Alle Feeds wurden in den letzten fünf Minuten abgerufen.
    [one] Ein Feed wird abgerufen.
   *[other] { $count } Feeds werden abgerufen.
}
feeds-refresh-one = Jetzt abrufen
feeds-refreshing-one = Der Feed wird abgerufen.
feeds-mark-above = Alle darüber als gelesen markieren ( Umschalt A )
feeds-marked = { $count ->
    [0] Nichts war ungelesen.
    [one] Ein Eintrag ist als gelesen markiert.
   *[other] { $count } Einträge sind als gelesen markiert.
}
feeds-unmarked = { $count ->
    [one] Ein Eintrag ist wieder ungelesen.
   *[other] { $count } Einträge sind wieder ungelesen.
}
feeds-failure = Dieser Feed ist gestört.
feeds-failing-since = Gestört seit { $time }.
feeds-next-try = Nächster Versuch: { $time }.
feeds-gone = Der Server meldet, dass es ihn nicht mehr gibt; er wird nicht mehr abgerufen.
feeds-newest = Neueste Einträge
feeds-older = Ältere Einträge
feeds-none = Du folgst keinem Feed
feeds-none-text = Folge einer Website, einem Newsletter-Archiv oder einem Podcast; neue Einträge kommen hier an.
feeds-follow = Einem Feed folgen
feeds-opml = Feeds importieren und exportieren
feeds-nothing-unread = Nichts ungelesen
feeds-nothing-unread-text = Du hast alles gesehen, was angekommen ist.
feeds-show-all = Alle Einträge zeigen
feeds-nothing-starred = Keine Einträge mit Stern
feeds-nothing-starred-text = Gib einem Eintrag einen Stern, um ihn hier wiederzufinden.
feeds-nothing = Keine Einträge
feeds-nothing-text = Einträge erscheinen hier, sobald der Feed abgerufen ist.
feeds-last-visit = Darüber: neu seit { $visit }
feeds-is-saved = gespeichert
feeds-is-starred = mit Stern
feeds-reading = Eintrag
feeds-back = Zurück zu den Einträgen
feeds-star = Stern ( s )
feeds-mark-read = Als gelesen markieren ( m )
feeds-mark-unread = Als ungelesen markieren ( m )
feeds-original = Die Originalseite ( v )
feeds-save = Speichern
feeds-save-title = In der Bibliothek speichern ( Umschalt S )
feeds-saved = Der Eintrag ist in deiner Bibliothek gespeichert.
feeds-saved-before = Er war schon gespeichert.
feeds-processing = Die ganze Seite wird abgerufen
feeds-recording = Dieser Eintrag hat eine Aufnahme.
feeds-recording-text = Mit einem Transkript kann sie durchsucht werden.
feeds-listen = An der Quelle hören
feeds-transcribe = Transkribieren
feeds-transcribing = Die Aufnahme wird transkribiert. Das Transkript wird der Text des Eintrags.
feeds-no-text = Der Eintrag hat keinen Text.
feeds-read-on = In der Leseansicht weiterlesen
feeds-open-reader = In der Leseansicht öffnen
feeds-choose = Wähle einen Eintrag
feeds-choose-text = Er öffnet sich hier und wird als gelesen markiert.
feeds-picture = Bild zeigen
feeds-count = { $count ->
    [one] 1 Feed
   *[other] { $count } Feeds
}
feeds-count-failing = { $count ->
    [one] 1 gestört
   *[other] { $count } gestört
}
feeds-entries = { $count ->
    [one] 1 Eintrag
   *[other] { $count } Einträge
}
feeds-entries-link = Einträge
feeds-fetched = Letzte Antwort:
feeds-first-fetch = Wartet auf den ersten Abruf
feeds-site = Website
feeds-change = Ändern
feeds-title = Titel
feeds-title-hint = Leer lassen, um den eigenen Titel des Feeds zu nehmen.
feeds-folder = Ordner
feeds-full-text = Die Seite eines Eintrags abrufen, wenn der Feed nur eine Zusammenfassung hat
feeds-keep = Änderungen behalten
feeds-changed = Der Feed ist geändert.
feeds-unfollow = Nicht mehr folgen
feeds-unfollowed = Du folgst { $title } nicht mehr. Gespeicherte Einträge bleiben in deiner Bibliothek.
feeds-folder-rename = Diesen Ordner umbenennen
feeds-folder-name = Neuer Name des Ordners
feeds-folder-save = Umbenennen
feeds-folder-hint = Leer lassen, um die Feeds aus dem Ordner zu nehmen. Der Name eines anderen Ordners vereint beide.
feeds-folder-renamed = Der Ordner ist geändert.
feeds-mutes = Stumme Wörter
feeds-mutes-text = Einträge, deren Titel oder Zusammenfassung diese Wörter enthält, werden bei der Ankunft als gelesen markiert. Unter „Alle“ bleiben sie.
feeds-mute-words = Wörter
feeds-mute-feed = In
feeds-mute-all = Allen Feeds
feeds-mute = Stumm schalten
feeds-muted = { $count ->
    [0] Die Wörter sind ab jetzt stumm.
    [one] Die Wörter sind stumm. Ein ungelesener Eintrag ist als gelesen markiert.
   *[other] Die Wörter sind stumm. { $count } ungelesene Einträge sind als gelesen markiert.
}
feeds-unmute = Entfernen
feeds-unmute-name = Die stummen Wörter { $words } entfernen
feeds-unmuted = Die Wörter sind nicht mehr stumm.
feeds-follow-lead = Füge die Adresse einer Website oder eines Feeds ein. Carrel findet die Feeds der Seite.
feeds-address = Adresse einer Website oder eines Feeds
feeds-find = Feeds suchen
feeds-found = { $count ->
    [one] Ein Feed gefunden
   *[other] { $count } Feeds gefunden
}
feeds-found-none = Die Seite nennt keinen Feed, dem man folgen kann.
feeds-follow-this = Folgen
feeds-followed = Du folgst dem Feed.
feeds-followed-before = Du folgst diesem Feed schon.
feeds-follow-many = Vielen Feeds auf einmal folgen, mit der Datei eines anderen Feedreaders
feeds-opml-lead = OPML ist das Format, in dem Feedreader Listen von Feeds austauschen.
feeds-opml-in = Import
feeds-opml-in-text = Allen Feeds der Datei wird gefolgt, in den Ordnern, die sie nennt. Feeds, denen du schon folgst, bleiben, wie sie sind.
feeds-opml-file = OPML-Datei
feeds-opml-import = Den Feeds der Datei folgen
feeds-opml-out = Export
feeds-opml-out-text = Eine Datei mit allen Feeds, denen du folgst, und ihren Ordnern.
feeds-opml-export = Datei herunterladen
feeds-imported = Neue Feeds: { $new }. Schon gefolgt: { $known }. Abgelehnt: { $refused }.
feeds-placeholder = slackwater.example
feeds-search = In diesem Feed suchen
