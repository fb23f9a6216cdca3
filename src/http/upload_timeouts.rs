//! How long a client may take to send a file that is written to the store while it arrives.

use std::time::Duration;

/// A client that sends nothing for this long is given up.
pub const MAX_SILENCE: Duration = Duration::from_secs(60);
/// The longest time for a whole file.
pub const MAX_UPLOAD_TIME: Duration = Duration::from_secs(6 * 3600);
