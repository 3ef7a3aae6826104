//! A byte-level tokenizer: each byte is one token, and eight more ids are special.
//!
//! With it a prompt of n bytes has n tokens, which a load test can check without a vocabulary file.

/// Identifier of one token.
pub type TokenId = u32;

/// Number of token ids: 256 bytes and eight special ones, of which three are unused.
pub const VOCABULARY_SIZE: usize = 264;

/// Who speaks in a chat message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Instructions for the whole conversation.
    System,
    /// The person who asks.
    User,
    /// The model.
    Assistant,
}

/// Converts between text and token ids.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tokenizer;

impl Tokenizer {
    /// Ends a generated text.
    pub const END: TokenId = 256;
    /// Ends one message of a chat.
    pub const END_OF_MESSAGE: TokenId = 257;
    const SYSTEM: TokenId = 258;
    const USER: TokenId = 259;
    const ASSISTANT: TokenId = 260;

    /// The bytes of `text` as token ids. No special token is added.
    pub fn encode(self, text: &str) -> Vec<TokenId> {
        text.bytes().map(TokenId::from).collect()
    }

    /// The text of `tokens`. Special tokens have no text, and bytes that are not UTF-8 become U+FFFD.
    pub fn decode(self, tokens: &[TokenId]) -> String {
        let bytes: Vec<u8> = tokens.iter().filter_map(|&token| u8::try_from(token).ok()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The prompt of a conversation: each message between its role's token and the end of message, then the token that
    /// gives the word to the assistant.
    pub fn encode_chat<'a>(
        self,
        messages: impl IntoIterator<Item = (Role, &'a str)>,
    ) -> Vec<TokenId> {
        let mut tokens = Vec::new();
        for (role, text) in messages {
            tokens.push(match role {
                Role::System => Self::SYSTEM,
                Role::User => Self::USER,
                Role::Assistant => Self::ASSISTANT,
            });
            tokens.extend(self.encode(text));
            tokens.push(Self::END_OF_MESSAGE);
        }
        tokens.push(Self::ASSISTANT);
        tokens
    }

    /// Whether the engine may generate `token` as text.
    ///
    /// Random weights would draw bytes that are no text half of the time, and a client that counts the chunks with text
    /// would then count too few tokens. So only printable ASCII and the line feed are generated, beside the end.
    pub fn is_text(self, token: TokenId) -> bool {
        u8::try_from(token)
            .is_ok_and(|byte| byte == b'\n' || byte == b' ' || byte.is_ascii_graphic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_survives_the_round_trip_byte_for_byte() {
        for text in ["", "plain", "Grüße, 世界 🚀\n\0", "\u{10FFFF}"] {
            let tokens = Tokenizer.encode(text);
            assert_eq!(tokens.len(), text.len());
            assert_eq!(Tokenizer.decode(&tokens), text);
        }
    }

    #[test]
    fn special_tokens_have_no_text_and_broken_bytes_are_replaced() {
        assert_eq!(Tokenizer.decode(&[104, Tokenizer::END, 105, 263]), "hi");
        assert_eq!(Tokenizer.decode(&[0xff, 104]), "\u{FFFD}h");
    }

    #[test]
    fn a_chat_prompt_counts_two_tokens_a_message_and_one_for_the_answer() {
        let tokens = Tokenizer.encode_chat([(Role::System, "be kind"), (Role::User, "hi")]);
        assert_eq!(tokens.len(), 7 + 2 + 2 * 2 + 1);
        assert_eq!(Tokenizer.decode(&tokens), "be kindhi");
    }

    #[test]
    fn every_text_token_is_one_whole_character() {
        let texts: Vec<TokenId> =
            (0..VOCABULARY_SIZE as TokenId).filter(|&id| Tokenizer.is_text(id)).collect();
        assert_eq!(texts.len(), 96);
        assert!(texts.iter().all(|&id| Tokenizer.decode(&[id]).chars().count() == 1));
    }
}
