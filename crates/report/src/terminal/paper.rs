//! The text under the pen, with what every rendering for the terminal does alike.

use anstyle::{AnsiColor, Style};

use super::layout::{width, wrap};
use crate::model::Word;

/// The narrowest text: below it the tables have no room.
const WIDTH_MIN: usize = 60;

/// How the text is set.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions {
    /// Columns of the terminal; at least 60 are used.
    pub width: usize,
    /// Whether to colour rulings and headings. Nothing is said by colour alone.
    pub color: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        Self { width: 80, color: false }
    }
}

/// Text that grows from top to bottom, never wider than the terminal.
pub(crate) struct Paper {
    pub(crate) width: usize,
    pub(crate) color: bool,
    pub(crate) text: String,
}

impl Paper {
    /// An empty text.
    pub(crate) fn new(options: &TerminalOptions) -> Self {
        Self { width: options.width.max(WIDTH_MIN), color: options.color, text: String::new() }
    }

    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    pub(crate) fn styled_line(&mut self, style: Style, line: &str) {
        let line = self.styled(style, line.trim_end());
        self.text.push_str(&line);
        self.text.push('\n');
    }

    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    pub(crate) fn heading(&mut self, text: &str) {
        self.blank();
        for line in wrap(text, self.width) {
            self.styled_line(Style::new().bold(), &line);
        }
        self.line(&"─".repeat(self.width));
    }

    /// A paragraph: `first` before its first line, as many spaces before the others.
    pub(crate) fn paragraph(&mut self, first: &str, text: &str) {
        let indent = width(first);
        for (index, line) in wrap(text, self.width.saturating_sub(indent)).iter().enumerate() {
            let lead = if index == 0 { first.to_owned() } else { " ".repeat(indent) };
            self.line(&format!("{lead}{line}"));
        }
    }

    /// A command, whole on its line where it fits, so that it can be copied.
    pub(crate) fn command(&mut self, indent: usize, command: &str) {
        let style = AnsiColor::Cyan.on_default();
        for line in wrap(command, self.width.saturating_sub(indent)) {
            let line = self.styled(style, &line);
            self.text.push_str(&" ".repeat(indent));
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }
}

pub(crate) fn style_of(word: Word) -> Style {
    let color = match word {
        Word::Pass => AnsiColor::Green,
        Word::Conditional => AnsiColor::Yellow,
        Word::Fail => AnsiColor::Red,
        Word::NotProven => AnsiColor::Blue,
        Word::Invalid => AnsiColor::Magenta,
    };
    color.on_default().bold()
}

pub(crate) fn marked(word: Word) -> String {
    format!("{} {}", word.mark(), word.text())
}
