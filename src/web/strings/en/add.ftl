add-title = Save
add-what = What
add-pages = Pages
add-note = Note
add-files = Files
add-urls = Addresses, one a line
add-found = Addresses
add-no-address = Paste at least one address.
add-left-out = { $count ->
    [one] One address is left out
   *[other] { $count } addresses are left out
}: { $most } can be saved at once. Import more as a file.
add-new = new
add-saved = saved
add-known = saved already
add-known-since = saved on { $date }
add-refused = refused
add-refused-line = There is no address in this line that can be saved. Write each in full on a line of its own, such as https://site.example/page.
add-tags = Tags, separated by commas
add-collection = Collection
add-no-collection = None
add-save = Save
add-done = { $count ->
    [one] 1 page saved
   *[other] { $count } pages saved
}
add-note-text = Note
add-note-title = Title; without one the first line
add-note-project = Project
add-note-save = Save the note
add-note-done = The note is saved
add-note-no-project = Notes belong to a project
add-note-no-project-text = Create a project first. On a saved page you can write notes in the reader.
add-files-drop = Drop files here, or choose them
add-files-hint = PDF, audio and video. The text is read, recordings are transcribed.
add-files-noscript = Without script, files are uploaded on this page:
add-file-waiting = waiting
add-file-sending = being uploaded
add-file-done = uploaded
add-file-open = Open
add-file-failed = The upload did not work. Try again.
add-file-type = This kind of file cannot be read.
add-file-full = There is no room for this file, or it is too large for your plan.
add-close = Close
