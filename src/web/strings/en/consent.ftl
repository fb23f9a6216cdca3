consent-title = Allow “{ $client }” to use your library?
consent-sign-in = Sign in
consent-asks = <b><bdi>{ $client }</bdi></b> asks to use your library. Sign in to choose what it may do.
consent-email = E-mail address
consent-password = Password
consent-asks-for = It asks for permission to:
consent-sent-to-later = Afterwards you are sent to <b dir="ltr">{ $host }</b>.
consent-signed-in-as = You are signed in as <b>{ $email }</b>.
consent-other-account = Use another account
consent-sent-to = You will be sent to
consent-local = This is a program on your own computer. Continue only if you have just started the connection there.
consent-known-host = Continue only if you know this address and started this yourself.
consent-unverified = The name is the one that the app gives itself; Carrel has not verified it.
consent-document = The app describes itself at <span dir="ltr">{ $url }</span>.
consent-home = Its home page is <span dir="ltr">{ $url }</span>.
consent-lasts = It stays connected for 90 days after its last use. You can disconnect it at any time in the settings, where every call it makes is listed.
consent-deny = Deny
consent-allow = Allow selected
consent-beyond-plan = It also asked for this, which your plan does not include:
consent-close = You can close this page.
