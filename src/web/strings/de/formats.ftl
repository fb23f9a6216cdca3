format-percent = { $number } %
format-bytes = { $count ->
    [one] { $count } Byte
   *[other] { $count } Byte
}
format-seconds = { $count ->
    [one] { $count } Sekunde
   *[other] { $count } Sekunden
}
format-minutes = { $count ->
    [one] { $count } Minute
   *[other] { $count } Minuten
}
format-hours = { $count ->
    [one] { $count } Stunde
   *[other] { $count } Stunden
}
format-days = { $count ->
    [one] { $count } Tag
   *[other] { $count } Tage
}
format-now = jetzt
format-min = { $minutes } Min.
format-h = { $hours } Std.
format-h-min = { $hours } Std. { $minutes } Min.
format-d = { $days } T.
format-today = heute
format-yesterday = gestern
format-date = { $day }. { $month }
format-date-year = { $day }. { $month } { $year }
format-date-long = { $weekday }, { $day }. { $month }
format-date-long-year = { $weekday }, { $day }. { $month } { $year }
format-month = { $month } { $year }
format-date-time = { $date }, { $time }
format-list = { $first } und { $last }
month-1 = Januar
month-2 = Februar
month-3 = März
month-4 = April
month-5 = Mai
month-6 = Juni
month-7 = Juli
month-8 = August
month-9 = September
month-10 = Oktober
month-11 = November
month-12 = Dezember
month-short-1 = Jan.
month-short-2 = Feb.
month-short-3 = März
month-short-4 = Apr.
month-short-5 = Mai
month-short-6 = Juni
month-short-7 = Juli
month-short-8 = Aug.
month-short-9 = Sept.
month-short-10 = Okt.
month-short-11 = Nov.
month-short-12 = Dez.
weekday-1 = Montag
weekday-2 = Dienstag
weekday-3 = Mittwoch
weekday-4 = Donnerstag
weekday-5 = Freitag
weekday-6 = Samstag
weekday-7 = Sonntag
