uploads-title = Uploads and processing
uploads-used = { $used } of { $limit }
uploads-drop = Drop PDFs, audio or video here
uploads-choose = Choose files
uploads-send = Upload
uploads-hint = Up to { $size } each. You can leave this page while they are processed.
uploads-too-large = Too large. Up to { $size } each.
uploads-empty = This file is empty.
uploads-wrong-type = Only PDFs, audio and video
uploads-sending = uploading
uploads-finishing = almost done
uploads-failed = The upload was interrupted. Choose the file again.
uploads-sent = uploaded
uploads-stop = Stop
uploads-stopped = stopped
uploads-now = Files and pages in progress
uploads-transcribing = Transcribing
uploads-fetching = Fetching the page
uploads-extracting = Reading the text
uploads-waiting = waiting
uploads-awaiting = The file has not arrived yet
uploads-next-try = next try
uploads-failed-list = Files and pages that failed
uploads-no-reason = The text could not be read
uploads-retry = Try again
uploads-retry-all = Retry all
uploads-retried = It is tried again.
uploads-retried-all = { $count ->
    [one] One text is tried again.
   *[other] { $count } texts are tried again.
}
uploads-all-failed = All failed texts, { $count }
uploads-none-failed = Nothing failed
uploads-done = Uploaded files
uploads-in-library = In the library
uploads-none = Nothing uploaded yet
uploads-expired = The file did not arrive in time
uploads-more = Earlier ones
uploads-storage = Storage
uploads-received = { $count ->
    [one] The file is uploaded.
   *[other] { $count } files are uploaded.
}
