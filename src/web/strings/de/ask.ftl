ask-title = Die Bibliothek fragen
ask-lead = Die Antwort kommt nur aus dem, was gespeichert ist. Jede Aussage nennt die Stelle, auf der sie beruht, und die Stelle öffnet sich daneben.
ask-question = Frage
ask-send = Fragen
ask-scope = Fragen an
ask-scope-all = Ganze Bibliothek
ask-scope-picked = { $count ->
    [one] { $count } ausgewähltes Dokument
   *[other] { $count } ausgewählte Dokumente
}
ask-scope-collection-gone = Eine gelöschte Sammlung
ask-scope-project-gone = Ein gelöschtes Projekt
ask-budget = { $answers } von { $limit } Antworten in diesem Monat
ask-recent = Letzte Fragen
ask-recent-none = Noch keine Fragen. Was gefragt wird, bleibt hier mit der Antwort stehen, bis es gelöscht wird. Die letzten 100 werden behalten.
ask-more = Ältere Fragen
ask-questions = { $count ->
    [one] { $count } Frage
   *[other] { $count } Fragen
}
ask-state-waiting = wird beantwortet
ask-state-failed = nicht beantwortet
ask-paused = Die KI pausiert.
ask-paused-text = Fragen werden ab { $time } wieder beantwortet. Die Suche nach Wörtern geht weiter.
ask-not-in-plan = Antworten gehören nicht zu diesem Plan.
ask-not-in-plan-text = Suche und Projekte gehen wie bisher.
ask-used-up = { $limit ->
    [one] Die eine Antwort dieses Monats ist verbraucht.
   *[other] Alle { $limit } Antworten dieses Monats sind verbraucht.
}
ask-used-up-text = Neue gibt es am { $time }. Suche und Projekte gehen weiter.
ask-quota = Das KI-Budget dieses Monats ist verbraucht.
ask-quota-text = Fragen werden ab { $time } wieder beantwortet. Suche und Projekte gehen weiter.
ask-asked-of = Gefragt:
ask-menu = Mehr: neue Frage, löschen
ask-new = Etwas Neues fragen
ask-delete = Diese Frage löschen
ask-delete-sure = Die Frage und ihre Antwort lassen sich nicht wiederherstellen.
ask-delete-for-good = Endgültig löschen
ask-deleted = Die Frage und ihre Antwort sind gelöscht.
ask-waiting = Die passendsten Stellen werden gelesen …
ask-failed = Diese Frage wurde nicht beantwortet.
ask-failed-text = Auf dem Server ist etwas fehlgeschlagen. Die Frage zählte nicht. Noch einmal fragen.
ask-failed-paused = Die KI pausierte.
ask-failed-paused-text = Die Frage zählte nicht. Nach der Pause noch einmal fragen.
ask-failed-used-up = Es waren keine Antworten übrig.
ask-failed-used-up-text = Die Antworten des Monats waren verbraucht. Im nächsten Monat noch einmal fragen.
ask-failed-quota = Das KI-Budget war verbraucht.
ask-failed-quota-text = Die Frage zählte nicht. Im nächsten Monat noch einmal fragen.
ask-failed-model = Das Modell hat nicht geantwortet.
ask-failed-model-text = Die Frage zählte nicht. In einer Minute noch einmal fragen.
ask-failed-gone = Was gefragt wurde, gibt es nicht mehr.
ask-failed-gone-text = Das Projekt, die Sammlung oder die Dokumente wurden gelöscht. Die Frage zählte nicht.
ask-retry = Noch einmal fragen
ask-nothing = Darüber steht nichts in der Bibliothek. Die Frage zählte als Antwort, denn alles wurde durchsucht.
ask-closest = Kein Satz beantwortet das direkt; am nächsten kommen:
ask-text-waiting = der Text ist noch nicht da
ask-text-failed = der Text konnte nicht abgerufen werden
ask-text-empty = ohne Text
ask-source = Quelle { $number }
ask-source-unverified = Quelle { $number }, nicht geprüft
ask-sources = Quellen
ask-unverified = { $count ->
    [one] Einer von { $total } Belegen ließ sich nicht prüfen.
   *[other] { $count } von { $total } Belegen ließen sich nicht prüfen.
}
ask-unverified-text = { $count ->
    [one] Die Worte von Quelle { $numbers } stehen nicht in der Stelle. Vor dem Verwenden nachlesen.
   *[other] Die Worte der Quellen { $numbers } stehen nicht in ihren Stellen. Vor dem Verwenden nachlesen.
}
ask-not-verified = nicht geprüft
ask-not-verified-note = nicht geprüft
ask-verified-text = Geprüft: Das Zitat steht wörtlich in der Quelle
ask-not-verified-text = Nicht geprüft: Die Antwort verweist auf diese Stelle, ihre Worte stehen aber nicht dort
ask-source-changed = der Text wurde seither ersetzt
ask-source-moved = der Text wurde seither ersetzt; das Zitat steht noch darin
ask-source-gone = seither gelöscht
ask-no-text = Dieses Dokument hat noch keinen Text, es gibt also nichts zu zitieren.
ask-save = Als Notiz speichern
ask-save-project = Projekt
ask-save-pinned = Anheften, damit Assistenten sie bekommen
ask-save-submit = Notiz speichern
ask-save-none = Notizen gehören zu Projekten, und es gibt noch keines.
ask-save-create = Projekt anlegen
ask-save-choose = Das Projekt für die Notiz auswählen.
ask-saved = Als Notiz „{ $title }“ gespeichert
ask-copy = Mit Quellen kopieren
ask-passages = { $count ->
    [one] { $count } Stelle gelesen
   *[other] { $count } Stellen gelesen
}
ask-close = Quelle schließen
ask-previous = Vorige Quelle
ask-next = Nächste Quelle
ask-open = Öffnen
ask-open-at = Öffnen: { $place }
ask-follow-up = Nachfragen
ask-full = Ein Gespräch hat höchstens 20 Fragen.
