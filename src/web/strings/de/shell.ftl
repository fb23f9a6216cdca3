shell-skip = Zum Inhalt springen
shell-main = Hauptnavigation
shell-search = Suche
shell-search-title = Suche ( / )
shell-save = Etwas speichern
shell-save-title = Etwas speichern ( n )
shell-notices-new = { $count ->
    [0] Mitteilungen
    [one] Mitteilungen, 1 neue
   *[other] Mitteilungen, { $count } neue
}
shell-home = Start
shell-library = Bibliothek
shell-feeds = Feeds
shell-highlights = Markierungen
shell-projects = Projekte
shell-ask = Fragen
shell-uploads = Uploads
shell-settings = Einstellungen
shell-pinned = Angeheftet
shell-more = Mehr
shell-undo = Rückgängig
shell-copy = Kopieren
shell-copied = Kopiert
shell-script-failed = Die Änderung hat nicht geklappt. Bitte noch einmal versuchen.
shell-script-offline = Es gibt keine Verbindung. Bitte noch einmal versuchen, wenn sie wieder da ist.
shell-script-wait = Zu viele Anfragen. Gleich wird es noch einmal versucht.
shell-marks-kept = Keine Verbindung. Die Änderung ist vorgemerkt und wird gesendet, sobald es eine gibt.
shell-marks-waiting = Wartet: { $count }
shell-marks-waits = wartet
shell-marks-sent = Was auf eine Verbindung gewartet hat, ist gesendet.
shell-marks-lost = Eine vorgemerkte Änderung war nicht möglich: Was sie ändert, gibt es nicht mehr.
settings-you = Du
settings-account = Konto
settings-security = Sicherheit
settings-reading = Lesen
settings-keyboard = Tastatur
settings-programs = Programme
settings-keys = API-Schlüssel
settings-connect = Assistenten verbinden
settings-apps = Verbundene Apps
settings-activity = Aktivität
settings-usage = Verbrauch
settings-library = Bibliothek
settings-import = Import
settings-export = Export
settings-tags = Schlagwörter
settings-server = Dieses Carrel
