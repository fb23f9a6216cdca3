feeds-unread = Unread
feeds-all = All
feeds-starred = Starred
feeds-unread-entry = Unread:
feeds-no-folder = Without a folder
feeds-failing = fails
feeds-manage = Manage feeds
feeds-manage-one = Manage it
feeds-open-tree = Choose feeds
feeds-which = Which entries
feeds-refresh = Fetch all now
feeds-refreshing = { $count ->
    [0] All feeds were fetched within the last five minutes.
    [one] One feed is being fetched.
   *[other] { $count } feeds are being fetched.
}
feeds-refresh-one = Fetch now
feeds-refreshing-one = The feed is being fetched.
feeds-mark-above = Mark all above as read ( Shift A )
feeds-marked = { $count ->
    [0] Nothing was unread.
    [one] One entry is marked as read.
   *[other] { $count } entries are marked as read.
}
feeds-unmarked = { $count ->
    [one] One entry is unread again.
   *[other] { $count } entries are unread again.
}
feeds-failure = This feed fails.
feeds-failing-since = Failing since { $time }.
feeds-next-try = Next try: { $time }.
feeds-gone = The server says that it is gone for good; it is not fetched any more.
feeds-newest = Newest entries
feeds-older = Older entries
feeds-none = You follow no feed
feeds-none-text = Follow a site, a newsletter archive or a podcast, and its new entries arrive here.
feeds-follow = Follow a feed
feeds-opml = Import and export feeds
feeds-nothing-unread = Nothing unread
feeds-nothing-unread-text = You have seen everything that arrived.
feeds-show-all = Show all entries
feeds-nothing-starred = No starred entries
feeds-nothing-starred-text = Star an entry to find it here again.
feeds-nothing = No entries
feeds-nothing-text = Entries appear here as soon as the feed was fetched.
feeds-last-visit = Your last visit: { $visit }
feeds-is-saved = saved
feeds-is-starred = starred
feeds-reading = Entry
feeds-back = Back to the entries
feeds-star = Star ( s )
feeds-mark-read = Mark as read ( m )
feeds-mark-unread = Mark as unread ( m )
feeds-original = The original page ( v )
feeds-save = Save
feeds-save-title = Save to the library ( Shift S )
feeds-saved = The entry is saved in your library.
feeds-saved-before = It was saved before.
feeds-processing = The full page is being fetched
feeds-recording = This entry has a recording.
feeds-recording-text = A transcript makes it searchable.
feeds-listen = Listen at the source
feeds-transcribe = Transcribe it
feeds-transcribing = The recording is being transcribed. The transcript becomes the text of the entry.
feeds-no-text = The entry has no text.
feeds-read-on = Read on in the reader
feeds-open-reader = Open in the reader
feeds-choose = Choose an entry
feeds-choose-text = It opens here and is marked as read.
feeds-picture = Show the picture
feeds-count = { $count ->
    [one] 1 feed
   *[other] { $count } feeds
}
feeds-count-failing = { $count ->
    [one] 1 fails
   *[other] { $count } fail
}
feeds-entries = { $count ->
    [one] 1 entry
   *[other] { $count } entries
}
feeds-entries-link = Entries
feeds-fetched = Last answer:
feeds-first-fetch = Waiting for the first fetch
feeds-site = Site
feeds-change = Change
feeds-title = Title
feeds-title-hint = Leave it empty to use the feed’s own title.
feeds-folder = Folder
feeds-full-text = Fetch the page of an entry if the feed has only a summary
feeds-keep = Keep the changes
feeds-changed = The feed is changed.
feeds-unfollow = Stop following
feeds-unfollowed = You no longer follow { $title }. Entries that you saved stay in your library.
feeds-folder-rename = Rename this folder
feeds-folder-name = New name of the folder
feeds-folder-save = Rename
feeds-folder-hint = Leave it empty to take the feeds out of the folder. The name of another folder joins both.
feeds-folder-renamed = The folder is changed.
feeds-mutes = Muted words
feeds-mutes-text = Entries whose title or summary contains these words are marked as read when they arrive. They stay under All.
feeds-mute-words = Words
feeds-mute-feed = In
feeds-mute-all = All feeds
feeds-mute = Mute
feeds-muted = { $count ->
    [0] The words are muted from now on.
    [one] The words are muted. One unread entry is marked as read.
   *[other] The words are muted. { $count } unread entries are marked as read.
}
feeds-unmute = Remove
feeds-unmute-name = Remove the muted words { $words }
feeds-unmuted = The words are no longer muted.
feeds-follow-lead = Paste the address of a site or of a feed. Carrel finds the feeds of the page.
feeds-address = Address of a site or a feed
feeds-find = Find feeds
feeds-found = { $count ->
    [one] One feed found
   *[other] { $count } feeds found
}
feeds-found-none = The page names no feed that can be followed.
feeds-follow-this = Follow
feeds-followed = You follow the feed.
feeds-followed-before = You follow this feed already.
feeds-follow-many = Follow many feeds at once, from a file of another reader
feeds-opml-lead = OPML is the file format in which feed readers exchange lists of feeds.
feeds-opml-in = Import
feeds-opml-in-text = All feeds of the file are followed, in the folders that it names. Feeds that you follow already stay as they are.
feeds-opml-file = OPML file
feeds-opml-import = Follow the feeds of the file
feeds-opml-out = Export
feeds-opml-out-text = A file with all feeds that you follow and their folders.
feeds-opml-export = Download the file
feeds-imported = New feeds: { $new }. Followed before: { $known }. Refused: { $refused }.
feeds-placeholder = slackwater.example
feeds-search = Search in this feed
