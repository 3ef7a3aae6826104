//! As much HTTP/1.1 as the mock needs: requests with a content length, chunked answers.

use std::fmt::Write as _;
use std::io;

use memchr::memmem;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// Most bytes of a request.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// A request as read.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) path: String,
    /// Whether it asks for tokens: clients also look for models, health and a tokenizer.
    pub(super) generates: bool,
    /// The answer tokens that were asked for.
    pub(super) max_tokens: u32,
    /// A number for prompt tokens: the bytes of the body, which is all that a mock can know.
    pub(super) prompt_tokens: u32,
    pub(super) chat: bool,
    /// Whether Triton's generate extension was asked.
    pub(super) triton: bool,
}

/// Reads the next request; `None` when the client closed the connection.
pub(super) async fn read_request(
    socket: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Request>> {
    let invalid = |words: &str| io::Error::new(io::ErrorKind::InvalidData, words.to_owned());
    loop {
        if let Some(head_end) = memmem::find(buffer, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
            let length = content_length(&head).ok_or_else(|| invalid("bad content length"))?;
            let whole = head_end + 4 + length;
            if whole > REQUEST_BYTES_MAX {
                return Err(invalid("request too large"));
            }
            if buffer.len() >= whole {
                let request = request_of(&head, &buffer[head_end + 4..whole]);
                buffer.drain(..whole);
                return Ok(Some(request));
            }
        } else if buffer.len() > REQUEST_BYTES_MAX {
            return Err(invalid("request head too large"));
        }
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn content_length(head: &str) -> Option<usize> {
    for line in head.lines() {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            return value.trim().parse().ok();
        }
    }
    Some(0)
}

fn request_of(head: &str, body: &[u8]) -> Request {
    let path = head.split_ascii_whitespace().nth(1).unwrap_or("/").to_owned();
    let max_tokens = number_at(body, b"\"max_tokens\":")
        .or_else(|| number_at(body, b"\"max_completion_tokens\":"))
        .unwrap_or(1);
    let chat = path.ends_with("/chat/completions");
    let triton = path.ends_with("/generate_stream");
    let generates = triton || path.ends_with("/completions");
    Request { path, generates, max_tokens, prompt_tokens: body.len() as u32, chat, triton }
}

/// The number after the last of these keys; `None` where there is no such key.
fn number_at(body: &[u8], key: &[u8]) -> Option<u32> {
    let digits = &body[memmem::rfind(body, key)? + key.len()..];
    let number = digits
        .iter()
        .skip_while(|byte| **byte == b' ')
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0_u32, |number, byte| {
            number.saturating_mul(10).saturating_add(u32::from(byte - b'0'))
        });
    Some(number)
}

/// The head of a streamed answer.
pub(super) const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\n\
    content-type: text/event-stream; charset=utf-8\r\n\
    transfer-encoding: chunked\r\n\r\n";

/// Appends one event as one HTTP chunk.
pub(super) fn append_event(out: &mut String, event: &str) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{:x}\r\n{event}\r\n", event.len());
}

/// The chunk that ends an answer.
pub(super) const STREAM_END: &str = "0\r\n\r\n";

/// A whole JSON answer.
pub(super) fn json_answer(status: u16, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Mock\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}
