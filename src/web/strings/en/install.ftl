install-description = A library for what you read, with search, highlights and answers
install-offline = No connection
install-offline-text = What you opened before can be read. Go back, or try again when you are online.
install-offline-kept = You can read these now
