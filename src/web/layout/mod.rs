//! Templates that pages extend: `base.html` (document), `app.html` (navigation), `settings.html` (navigation of the settings),
//! `gate.html` (signed out), `error.html`.
