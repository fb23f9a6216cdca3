account-signed-in = Signed in as { $email }
account-sign-out = Sign out
account-save = Save
account-saved = Saved
account-cancel = Cancel
account-language = Language
account-language-browser = Same as the browser
account-language-en = English
account-language-de = Deutsch
account-time-zone = Time zone
account-time-zone-hint = All times are shown in this zone. Empty means UTC.
account-theme = Theme
account-theme-system = Same as the system
account-theme-light = Light
account-theme-dark = Dark
account-email-change = Change the e-mail address
account-email-new = New e-mail address
account-email-text = You sign in with it from now on. Links for a new password that were sent to the former address no longer work.
account-email-changed = The e-mail address was changed
account-email-taken = Another account has this e-mail address.
account-leave = Export or delete
account-leave-text = You can take everything with you: pages, texts, notes, highlights, feeds and projects.
account-export = Export
account-delete = Delete the account
account-delete-button = Delete everything
account-delete-text = The account <b dir="ltr">{ $email }</b> is deleted with everything in it: pages, texts, notes, highlights, feeds, projects, keys and connected apps. This cannot be undone.
account-delete-export = <a class="link" href="/exports">Export your library</a> first if you want to keep it.
account-password-current = Current password
account-password-new = New password
account-password-text = All other sessions end, and connected apps are disconnected. API keys keep working.
account-password-change = Change the password
account-password-changed = The password was changed
account-sessions = Sessions
account-session-since = Signed in
account-session-until = until
account-session-this = this browser
account-session-end = End
account-session-ended = The session ended
account-sessions-end = End all other sessions
account-sessions-ended = { $count ->
    [0] There was no other session
    [one] One session ended
   *[other] { $count } sessions ended
}
account-keyboard-lead = Everything can be done by keyboard. Single keys can be turned off if they get in your way.
account-keyboard-all = All keys
account-preset = Type
account-preset-page = Page
account-preset-paperback = Paperback
account-preset-large = Large
account-preset-plain = Plain
account-preset-legible = Legible
account-paper = Paper
account-paper-auto = Auto
account-paper-light = Day
account-paper-linen = Linen
account-paper-dark = Night
account-sizes = Sizes
account-sizes-own = Use these sizes in place of those of the type
account-size = Size
account-leading = Line height
account-measure = Width
account-justified = Justified
account-inverts = Invert the pages of PDFs on dark paper
account-pictures = Show pictures
account-pictures-hint = The server fetches them, so that sites do not see you. Without them, each is fetched when you click on it.
account-words = Words a minute
account-words-hint = The reading time of a text is estimated from this. Lists that are limited to some minutes always count 230 words a minute.
