account-signed-in = Angemeldet als { $email }
account-sign-out = Abmelden
account-save = Speichern
account-saved = Gespeichert
account-cancel = Abbrechen
account-language = Sprache
account-language-browser = Wie im Browser
account-language-en = English
account-language-de = Deutsch
account-time-zone = Zeitzone
account-time-zone-hint = In dieser Zone stehen alle Zeiten. Leer bedeutet UTC.
account-theme = Farben
account-theme-system = Wie das System
account-theme-light = Hell
account-theme-dark = Dunkel
account-email-change = E-Mail-Adresse ändern
account-email-new = Neue E-Mail-Adresse
account-email-text = Du meldest dich ab dann mit ihr an. Links für ein neues Passwort, die an die bisherige Adresse gingen, gelten nicht mehr.
account-email-changed = Die E-Mail-Adresse wurde geändert
account-email-taken = Ein anderes Konto hat diese E-Mail-Adresse.
account-leave = Exportieren oder löschen
account-leave-text = Du kannst alles mitnehmen: Seiten, Texte, Notizen, Markierungen, Feeds und Projekte.
account-export = Exportieren
account-delete = Konto löschen
account-delete-button = Alles löschen
account-delete-text = Das Konto <b dir="ltr">{ $email }</b> wird mit allem gelöscht, was darin ist: Seiten, Texte, Notizen, Markierungen, Feeds, Projekte, Schlüssel und verbundene Apps. Das lässt sich nicht rückgängig machen.
account-delete-export = <a class="link" href="/exports">Exportiere deine Bibliothek</a> vorher, wenn du sie behalten willst.
account-password-current = Aktuelles Passwort
account-password-new = Neues Passwort
account-password-text = Alle anderen Sitzungen enden, und verbundene Apps werden getrennt. API-Schlüssel gelten weiter.
account-password-change = Passwort ändern
account-password-changed = Das Passwort wurde geändert
account-sessions = Sitzungen
account-session-since = Angemeldet
account-session-until = bis
account-session-this = dieser Browser
account-session-end = Beenden
account-session-ended = Die Sitzung ist beendet
account-sessions-end = Alle anderen Sitzungen beenden
account-sessions-ended = { $count ->
    [0] Es gab keine andere Sitzung
    [one] Eine Sitzung ist beendet
   *[other] { $count } Sitzungen sind beendet
}
account-keyboard-lead = Alles geht mit der Tastatur. Einzelne Tasten lassen sich ausschalten, wenn sie stören.
account-keyboard-all = Alle Tasten
account-preset = Schrift
account-preset-page = Buchseite
account-preset-paperback = Taschenbuch
account-preset-large = Groß
account-preset-plain = Schlicht
account-preset-legible = Gut lesbar
account-paper = Papier
account-paper-auto = Automatisch
account-paper-light = Tag
account-paper-linen = Leinen
account-paper-dark = Nacht
account-sizes = Größen
account-sizes-own = Diese Größen statt jener der Schrift verwenden
account-size = Größe
account-leading = Zeilenhöhe
account-measure = Breite
account-justified = Blocksatz
account-inverts = PDF-Seiten auf dunklem Papier umkehren
account-pictures = Bilder zeigen
account-pictures-hint = Der Server ruft sie ab, damit fremde Seiten dich nicht sehen. Sonst wird jedes erst abgerufen, wenn du darauf klickst.
account-words = Wörter pro Minute
account-words-hint = Danach wird die Lesezeit eines Textes geschätzt. Listen, die auf einige Minuten begrenzt sind, rechnen immer mit 230 Wörtern pro Minute.
