install-description = Eine Bibliothek für das, was du liest, mit Suche, Markierungen und Antworten
install-offline = Keine Verbindung
install-offline-text = Was du schon geöffnet hast, kannst du lesen. Geh zurück, oder versuch es wieder, wenn die Verbindung steht.
install-offline-kept = Das kannst du jetzt lesen
