home-empty-title = Nothing saved yet
home-empty-text = Save a first page, or import what you have from another service.
home-save = Save a page
home-import = Import
home-time-for = Time for
home-continue = Continue reading
home-all-started = All started, { $count }
home-stopped-after = You stopped after
home-go-on = Continue
home-left = { $minutes } min left
home-read = { $percent } read
home-heard = { $percent } heard
home-new = New in your feeds
home-new-since = { $count ->
    [one] 1 since { $visit }
   *[other] { $number } since { $visit }
}
home-all-unread = All unread, { $count }
home-saved = Recently saved
home-transcribing = Transcribing
home-reading = Being read and indexed
home-retry = Try again
home-retry-of = Try again: { $title }
home-retried = It will be tried again in a moment.
home-see = See why
home-beside = Beside it
home-all = All
home-highlight = From your highlights
home-another = Another one
home-marked = marked in
home-sources = { $count ->
    [one] 1 source
   *[other] { $count } sources
}
visit-today = today, { $time }
visit-night = the night to { $weekday }
visit-morning = { $weekday } morning
visit-afternoon = { $weekday } afternoon
visit-evening = { $weekday } evening
welcome-title = Welcome
welcome-name = Welcome, <bdi>{ $name }</bdi>
welcome-lead = Four ways to start. Take them in any order, or skip them all.
welcome-done = Done:
welcome-address = Address
welcome-save = Save a first page
welcome-save-text = Paste its address. Carrel keeps the text, so that it can be read and searched even if the page goes away.
welcome-save-button = Save
welcome-save-done = It is in your library and can be searched.
welcome-saved = Saved. The text is ready in a moment.
welcome-to-library = Open the library
welcome-import = Import what you have
welcome-import-text = Pocket, Instapaper, Readwise, Raindrop, Omnivore, wallabag, Karakeep, Linkwarden, a browser’s bookmarks, and more. You see a preview before anything is saved.
welcome-import-done = You have imported a file. You can import others.
welcome-import-button = Choose a file
welcome-follow = Follow a feed
welcome-follow-text = Paste the address of any page; Carrel finds its feeds.
welcome-follow-button = Find feeds
welcome-follow-done = You follow a feed. New entries arrive by themselves.
welcome-connect = Connect your assistant
welcome-connect-text = Claude, ChatGPT or your editor can find passages here and cite them.
welcome-connect-done = An app or a key has used your library.
welcome-connect-button = Connect
welcome-extension = Browser extension
welcome-sample-ready = A sample project is ready to try:
welcome-sample-name = { $count ->
    [one] How tides work, with 1 source
   *[other] How tides work, with { $count } sources
}
welcome-sample-ask = Ask it something.
welcome-sample-remove = Remove it
welcome-sample-removed = The sample project and its texts were removed.
welcome-sample-added = The sample project is in your library.
welcome-sample-text = Want to try search and questions first? A sample project has five short texts about the tide.
welcome-sample-add = Add it
welcome-end = Go to my library
welcome-placeholder = https://
