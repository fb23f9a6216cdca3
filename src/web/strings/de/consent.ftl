consent-title = „{ $client }“ deine Bibliothek benutzen lassen?
consent-sign-in = Anmelden
consent-asks = <b><bdi>{ $client }</bdi></b> möchte deine Bibliothek benutzen. Melde dich an, um auszuwählen, was es darf.
consent-email = E-Mail-Adresse
consent-password = Passwort
consent-asks-for = Es bittet um diese Rechte:
consent-sent-to-later = Danach wirst du zu <b dir="ltr">{ $host }</b> geleitet.
consent-signed-in-as = Du bist angemeldet als <b>{ $email }</b>.
consent-other-account = Anderes Konto benutzen
consent-sent-to = Du wirst geleitet zu
consent-local = Das ist ein Programm auf deinem eigenen Computer. Fahre nur fort, wenn du die Verbindung eben dort begonnen hast.
consent-known-host = Fahre nur fort, wenn du diese Adresse kennst und selbst begonnen hast.
consent-unverified = Den Namen hat sich die App selbst gegeben; Carrel hat ihn nicht geprüft.
consent-document = Die App beschreibt sich unter <span dir="ltr">{ $url }</span>.
consent-home = Ihre Startseite ist <span dir="ltr">{ $url }</span>.
consent-lasts = Sie bleibt 90 Tage nach der letzten Benutzung verbunden. Du kannst sie jederzeit in den Einstellungen trennen, wo auch jeder ihrer Aufrufe steht.
consent-deny = Ablehnen
consent-allow = Auswahl erlauben
consent-beyond-plan = Darum bat sie auch, aber dein Plan enthält es nicht:
consent-close = Du kannst diese Seite schließen.
