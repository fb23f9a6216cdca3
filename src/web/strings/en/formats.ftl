format-percent = { $number } %
format-bytes = { $count ->
    [one] { $count } byte
   *[other] { $count } bytes
}
format-seconds = { $count ->
    [one] { $count } second
   *[other] { $count } seconds
}
format-minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}
format-hours = { $count ->
    [one] { $count } hour
   *[other] { $count } hours
}
format-days = { $count ->
    [one] { $count } day
   *[other] { $count } days
}
format-now = now
format-min = { $minutes } min
format-h = { $hours } h
format-h-min = { $hours } h { $minutes } min
format-d = { $days } d
format-today = today
format-yesterday = yesterday
format-date = { $day } { $month }
format-date-year = { $day } { $month } { $year }
format-date-long = { $weekday }, { $day } { $month }
format-date-long-year = { $weekday }, { $day } { $month } { $year }
format-month = { $month } { $year }
format-date-time = { $date }, { $time }
format-list = { $first } and { $last }
month-1 = January
month-2 = February
month-3 = March
month-4 = April
month-5 = May
month-6 = June
month-7 = July
month-8 = August
month-9 = September
month-10 = October
month-11 = November
month-12 = December
month-short-1 = Jan
month-short-2 = Feb
month-short-3 = Mar
month-short-4 = Apr
month-short-5 = May
month-short-6 = Jun
month-short-7 = Jul
month-short-8 = Aug
month-short-9 = Sep
month-short-10 = Oct
month-short-11 = Nov
month-short-12 = Dec
weekday-1 = Monday
weekday-2 = Tuesday
weekday-3 = Wednesday
weekday-4 = Thursday
weekday-5 = Friday
weekday-6 = Saturday
weekday-7 = Sunday
