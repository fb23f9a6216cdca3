tags-title = Schlagwörter
tags-find = Schlagwort suchen
tags-tag = Schlagwort
tags-saves = Gespeichertes
tags-select = Auswählen
tags-select-one = { $name } auswählen
tags-selected = Ausgewählte Schlagwörter
tags-selected-none = Nichts ausgewählt
tags-selected-one = 1 ausgewählt
tags-selected-many = %count% ausgewählt
tags-into = Neuer Name
tags-merge = Umbenennen oder zusammenführen
tags-merge-into = In { $name } zusammenführen
tags-delete = Schlagwörter löschen, Gespeichertes behalten
tags-alike = <b><bdi>{ $less }</bdi></b> und <b><bdi>{ $more }</bdi></b> sehen nach demselben Schlagwort aus.
tags-by-name = Nach Name sortieren
tags-by-count = Nach Anzahl sortieren
tags-empty-title = Noch keine Schlagwörter
tags-empty-text = Vergib Schlagwörter in der Bibliothek oder beim Speichern.
tags-none-title = Kein Schlagwort enthält das
tags-none-all = Alle Schlagwörter zeigen
tags-done-merged = { $count } geändert
tags-done-deleted = { $count ->
    [one] Die Schlagwörter sind von 1 Eintrag gelöscht
   *[other] Die Schlagwörter sind von { $count } Einträgen gelöscht
}
