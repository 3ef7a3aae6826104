//! One walk over the JSON text of a chunk that builds nothing and allocates nothing.
//!
//! It answers `None` whenever the text is not plainly what an OpenAI-compatible server sends; the
//! caller then parses the whole chunk. It may accept a text that a strict parser would refuse (a
//! number such as `01`, a field given twice), but it never reads a token out of a text where a strict parser sees none.

use memchr::memchr2;

use super::chunk::Usage;

/// Nesting that the walk follows; deeper text is left to the whole parser.
const DEPTH_MAX: u32 = 32;

/// Whether a token belongs to the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A user or an application sees it.
    Visible,
    /// Reasoning, which most front ends hide.
    Reasoning,
}

/// The kind of token that a field of a choice or of its delta holds. `role`, `finish_reason`,
/// `index`, `logprobs` and the like hold none.
pub(super) fn token_kind(key: &[u8]) -> Option<TokenKind> {
    match key {
        b"content" | b"text" | b"tool_calls" | b"function_call" | b"refusal" => {
            Some(TokenKind::Visible)
        }
        b"reasoning" | b"reasoning_content" | b"reasoning_details" => Some(TokenKind::Reasoning),
        _ => None,
    }
}

/// What the walk found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) token: bool,
    pub(super) visible: bool,
    pub(super) usage: Option<Usage>,
    pub(super) error: bool,
}

/// A place in the text.
pub(super) struct Walker<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Walker<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Walks the whole chunk.
    pub(super) fn chunk(mut self) -> Option<Found> {
        let mut found = Found::default();
        self.object(&mut found, |walker, found, key| match key {
            b"choices" if walker.peek()? == b'[' => {
                walker.array(|walker| walker.choice(found, true))
            }
            b"usage" if walker.peek()? == b'{' => walker.usage(found),
            b"error" => {
                found.error |= walker.peek()? != b'n';
                walker.skip(1)
            }
            // Older servers mark an error by the chunk's type alone.
            b"object" => {
                found.error |= walker.peek()? == b'"' && walker.string()? == b"error";
                Some(())
            }
            _ => walker.skip(1),
        })?;
        self.spaces();
        (self.at == self.text.len()).then_some(found)
    }

    /// A choice, or the delta in it: both may hold tokens.
    fn choice(&mut self, found: &mut Found, outer: bool) -> Option<()> {
        self.object(found, |walker, found, key| {
            if outer && key == b"delta" && walker.peek()? == b'{' {
                return walker.choice(found, false);
            }
            let Some(kind) = token_kind(key) else {
                return walker.skip(1);
            };
            if walker.carries()? {
                found.token = true;
                found.visible |= kind == TokenKind::Visible;
            }
            Some(())
        })
    }

    fn usage(&mut self, found: &mut Found) -> Option<()> {
        let mut usage = Usage { prompt_tokens: None, completion_tokens: 0 };
        let mut counted = false;
        self.object(&mut usage, |walker, usage, key| match key {
            b"prompt_tokens" => {
                usage.prompt_tokens = Some(walker.integer()?);
                Some(())
            }
            b"completion_tokens" => {
                usage.completion_tokens = walker.integer()?;
                counted = true;
                Some(())
            }
            _ => walker.skip(1),
        })?;
        if counted {
            found.usage = Some(usage);
        }
        Some(())
    }

    fn object<T>(
        &mut self,
        state: &mut T,
        mut field: impl FnMut(&mut Self, &mut T, &[u8]) -> Option<()>,
    ) -> Option<()> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.string()?;
            self.expect(b':')?;
            self.peek()?;
            field(self, state, key)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
            self.peek()?;
        }
    }

    fn array(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
            self.peek()?;
        }
    }

    /// Walks a value and says whether it holds anything.
    fn carries(&mut self) -> Option<bool> {
        let from = self.at;
        match self.peek()? {
            b'"' => {
                self.skip_string()?;
                Some(self.at > from + 2)
            }
            open @ (b'[' | b'{') => {
                let close = if open == b'[' { b']' } else { b'}' };
                self.at += 1;
                let empty = self.peek()? == close;
                self.at = from;
                self.skip(1)?;
                Some(!empty)
            }
            _ => {
                self.skip(1)?;
                Some(false)
            }
        }
    }

    fn skip(&mut self, depth: u32) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.peek()? {
            b'"' => self.skip_string(),
            b'{' => self.object(&mut (), |walker, (), _| walker.skip(depth + 1)),
            b'[' => self.array(|walker| walker.skip(depth + 1)),
            b'n' => self.word(b"null"),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'-' | b'0'..=b'9' => {
                self.at += 1;
                while matches!(
                    self.text.get(self.at),
                    Some(b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')
                ) {
                    self.at += 1;
                }
                Some(())
            }
            _ => None,
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    fn integer(&mut self) -> Option<u32> {
        let from = self.at;
        let mut number: u32 = 0;
        while let Some(digit @ b'0'..=b'9') = self.text.get(self.at) {
            number = number.checked_mul(10)?.checked_add(u32::from(digit - b'0'))?;
            self.at += 1;
        }
        let ends = !matches!(self.text.get(self.at), Some(b'.' | b'e' | b'E'));
        (self.at > from && ends).then_some(number)
    }

    /// A string without escapes, such as every key of interest.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let rest = self.text.get(self.at..)?;
        let end = memchr2(b'"', b'\\', rest)?;
        if rest[end] == b'\\' {
            return None;
        }
        self.at += end + 1;
        Some(&rest[..end])
    }

    fn skip_string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            let rest = self.text.get(self.at..)?;
            let end = memchr2(b'"', b'\\', rest)?;
            if rest[end] == b'"' {
                self.at += end + 1;
                return Some(());
            }
            // The escaped byte is skipped unread: whether the escape exists is not asked here.
            self.at += end + 2;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// The next byte after spaces, which are passed.
    fn peek(&mut self) -> Option<u8> {
        self.spaces();
        self.text.get(self.at).copied()
    }

    fn spaces(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }
}
