shell-skip = Skip to the page
shell-main = Main
shell-search = Search
shell-search-title = Search ( / )
shell-save = Save something
shell-save-title = Save something ( n )
shell-notices-new = { $count ->
    [0] Notices
    [one] Notices, 1 new
   *[other] Notices, { $count } new
}
shell-home = Home
shell-library = Library
shell-feeds = Feeds
shell-highlights = Highlights
shell-projects = Projects
shell-ask = Ask
shell-uploads = Uploads
shell-settings = Settings
shell-pinned = Pinned
shell-more = More
shell-undo = Undo
shell-copy = Copy
shell-copied = Copied
shell-script-failed = The change did not work. Try again.
shell-script-offline = There is no connection. Try again when you are online.
shell-script-wait = Too many requests. Trying again in a moment.
shell-marks-kept = There is no connection. The change is kept, and sent when there is one.
shell-marks-waiting = Waiting: { $count }
shell-marks-waits = waiting
shell-marks-sent = What waited for a connection is sent.
shell-marks-lost = A change that waited could not be made: what it changes is gone.
settings-you = You
settings-account = Account
settings-security = Security
settings-reading = Reading
settings-keyboard = Keyboard
settings-programs = Programs
settings-keys = API keys
settings-connect = Connect an assistant
settings-apps = Connected apps
settings-activity = Activity
settings-usage = Usage
settings-library = Library
settings-import = Import
settings-export = Export
settings-tags = Tags
settings-server = This Carrel
