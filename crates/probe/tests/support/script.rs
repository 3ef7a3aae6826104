//! Scripts that stand in the place of tools.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a script that can be run at once. Another process writes it: while this one held it open
/// for writing, a process that a neighbouring test starts would inherit that, and until it is gone
/// the script could not be run ("Text file busy").
pub(crate) fn executable(path: &Path, text: &str) {
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}
