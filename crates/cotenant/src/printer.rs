//! The one place that prints: data to standard output, everything else to standard error.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::exit::Failure;

/// Prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    quiet: bool,
}

#[expect(clippy::unused_self, reason = "only who has the printer prints")]
impl Printer {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Whether what is printed to standard output may have colour.
    pub(crate) fn color(self) -> bool {
        anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
    }

    /// Whether what is printed to standard error may have colour.
    pub(crate) fn error_color(self) -> bool {
        anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
    }

    /// Data: the answer.
    pub(crate) fn data(self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        Ok(out.flush()?)
    }

    /// A remark beside the answer. A reader of standard error that is gone is no failure.
    pub(crate) fn note(self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }

    /// What went wrong, even where quiet was asked for.
    pub(crate) fn error_text(self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", text.trim_end_matches('\n'));
    }

    /// Whether a long work is drawn on one line that changes, and not told in lines that stay.
    pub(crate) fn is_drawn(self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// A line that shows how far a long work is. Where standard error is no terminal, each new
    /// message is a line of its own.
    pub(crate) fn work(self, total: u64) -> Work {
        let bar = ProgressBar::new(total);
        let shown = self.is_drawn();
        bar.set_draw_target(if shown {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        });
        if let Ok(style) = ProgressStyle::with_template("  [{bar:24}] {pos}/{len}  {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Work { bar, lines: !self.quiet && !shown }
    }
}

/// A long work.
#[derive(Debug)]
pub(crate) struct Work {
    bar: ProgressBar,
    lines: bool,
}

impl Work {
    /// How far it is, what it does, and how long the rest takes.
    pub(crate) fn step(&self, done: u64, doing: &str, left: Duration) {
        let left = format!("about {} left", minutes(left));
        self.bar.set_position(done);
        self.bar.set_message(format!("{doing}, {left}"));
        if self.lines {
            let total = self.bar.length().unwrap_or(0);
            let _ = writeln!(io::stderr().lock(), "  [{done}/{total}] {doing}, {left}");
        }
    }

    /// A line that stays.
    pub(crate) fn say(&self, text: &str) {
        if self.lines {
            let _ = writeln!(io::stderr().lock(), "{text}");
        } else {
            self.bar.suspend(|| {
                let _ = writeln!(io::stderr().lock(), "{text}");
            });
        }
    }

    /// The end of it.
    pub(crate) fn done(&self) {
        self.bar.finish_and_clear();
    }
}

/// A length of time for people: `40 s`, `2 min 10 s`.
pub(crate) fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) if minutes < 60 => format!("{minutes} min {seconds:02} s"),
        (minutes, _) => format!("{} h {:02} min", minutes / 60, minutes % 60),
    }
}
