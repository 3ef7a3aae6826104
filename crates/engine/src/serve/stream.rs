//! Answers: the whole text at once, or a stream of server-sent events with one token each.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::protocol::Endpoint;
use super::queue::{Event, FinishReason};

/// What all parts of one answer have in common.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) endpoint: Endpoint,
    pub(crate) id: String,
    /// Seconds since 1970.
    pub(crate) created_s: u64,
    pub(crate) model_name: String,
    pub(crate) prompt_tokens: usize,
    pub(crate) include_usage: bool,
    pub(crate) continuous_usage: bool,
}

impl Answer {
    fn usage(&self, completion_tokens: usize) -> Value {
        json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": self.prompt_tokens + completion_tokens,
        })
    }

    fn envelope(&self, object: &str, choices: &Value) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": self.created_s,
            "model": self.model_name,
            "choices": choices,
        })
    }

    /// The answer of a request that does not stream.
    pub(crate) fn whole(
        &self,
        text: &str,
        completion_tokens: usize,
        reason: FinishReason,
    ) -> Value {
        let finish = finish_word(reason);
        let mut value = match self.endpoint {
            Endpoint::Completion => self.envelope(
                "text_completion",
                &json!([{"index": 0, "text": text, "logprobs": null, "finish_reason": finish}]),
            ),
            Endpoint::Chat => self.envelope(
                "chat.completion",
                &json!([{
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "logprobs": null,
                    "finish_reason": finish,
                }]),
            ),
        };
        value["usage"] = self.usage(completion_tokens);
        value
    }

    fn chunk(&self, text: &str, completion_tokens: usize, finish: Option<FinishReason>) -> Value {
        let finish = finish.map(finish_word);
        let mut value = match self.endpoint {
            Endpoint::Completion => self.envelope(
                "text_completion",
                &json!([{"index": 0, "text": text, "logprobs": null, "finish_reason": finish}]),
            ),
            Endpoint::Chat => self.envelope(
                "chat.completion.chunk",
                &json!([{"index": 0, "delta": {"content": text}, "logprobs": null, "finish_reason": finish}]),
            ),
        };
        if self.continuous_usage {
            value["usage"] = self.usage(completion_tokens);
        }
        value
    }

    /// The chunk that opens a chat answer. It holds no token.
    fn role_chunk(&self) -> Value {
        let mut value = self.envelope(
            "chat.completion.chunk",
            &json!([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]),
        );
        if self.continuous_usage {
            value["usage"] = self.usage(0);
        }
        value
    }

    fn usage_chunk(&self, completion_tokens: usize) -> Value {
        let object = match self.endpoint {
            Endpoint::Completion => "text_completion",
            Endpoint::Chat => "chat.completion.chunk",
        };
        let mut value = self.envelope(object, &json!([]));
        value["usage"] = self.usage(completion_tokens);
        value
    }
}

fn finish_word(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
    }
}

/// The body of a streamed answer. Dropping it, as happens when the client goes away, closes the channel, by which the
/// scheduler knows.
#[derive(Debug)]
pub(crate) struct EventBody {
    answer: Answer,
    events: mpsc::Receiver<Event>,
    completion_tokens: usize,
    ready: VecDeque<Bytes>,
    ended: bool,
}

impl EventBody {
    pub(crate) fn new(answer: Answer, events: mpsc::Receiver<Event>) -> Self {
        Self { answer, events, completion_tokens: 0, ready: VecDeque::new(), ended: false }
    }

    fn push(&mut self, data: &impl std::fmt::Display) {
        self.ready.push_back(Bytes::from(format!("data: {data}\n\n")));
    }

    fn take_event(&mut self, event: Option<Event>) {
        match event {
            Some(Event::Token { text, finish }) => {
                if self.completion_tokens == 0 && self.answer.endpoint == Endpoint::Chat {
                    self.push(&self.answer.role_chunk());
                }
                self.completion_tokens += 1;
                self.push(&self.answer.chunk(&text, self.completion_tokens, finish));
                if finish.is_some() {
                    if self.answer.include_usage {
                        self.push(&self.answer.usage_chunk(self.completion_tokens));
                    }
                    self.push(&"[DONE]");
                    self.ended = true;
                }
            }
            Some(Event::Failed(message)) => self.fail(&message),
            None => self.fail("the engine stopped"),
        }
    }

    /// Ends the stream with an error and without `[DONE]`, so that no client can take it for a whole answer.
    fn fail(&mut self, message: &str) {
        self.push(&json!({"error": {"message": message, "type": "server_error", "param": null, "code": null}}));
        self.ended = true;
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match self.events.poll_recv(context) {
                Poll::Ready(event) => self.take_event(event),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(
        endpoint: Endpoint,
        usage: bool,
        continuous: bool,
        events: Vec<Event>,
    ) -> Vec<String> {
        let answer = Answer {
            endpoint,
            id: "x".to_owned(),
            created_s: 1,
            model_name: "m".to_owned(),
            prompt_tokens: 5,
            include_usage: usage,
            continuous_usage: continuous,
        };
        let (sender, receiver) = mpsc::channel(9);
        for event in events {
            sender.try_send(event).unwrap();
        }
        drop(sender);
        let mut body = EventBody::new(answer, receiver);
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut frames = Vec::new();
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
            let text = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
            frames.push(
                text.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap().to_owned(),
            );
        }
        frames
    }

    fn token(text: &str, finish: Option<FinishReason>) -> Event {
        Event::Token { text: text.to_owned(), finish }
    }

    fn json(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn each_token_is_one_chunk_and_usage_and_done_follow() {
        let events = vec![token("a", None), token("b", Some(FinishReason::Length))];
        let frames = frames(Endpoint::Completion, true, false, events);
        assert_eq!(frames.len(), 4);
        assert_eq!(json(&frames[0])["choices"][0]["text"], "a");
        assert!(json(&frames[0]).get("usage").is_none());
        assert_eq!(json(&frames[1])["choices"][0]["finish_reason"], "length");
        assert_eq!(json(&frames[2])["usage"]["total_tokens"], 7);
        assert_eq!(json(&frames[2])["choices"], serde_json::json!([]));
        assert_eq!(frames[3], "[DONE]");
    }

    #[test]
    fn a_chat_opens_with_the_role_and_can_carry_usage_throughout() {
        let frames =
            frames(Endpoint::Chat, false, true, vec![token("a", Some(FinishReason::Stop))]);
        assert_eq!(frames.len(), 3);
        assert_eq!(json(&frames[0])["choices"][0]["delta"]["role"], "assistant");
        assert_eq!(json(&frames[1])["choices"][0]["delta"]["content"], "a");
        assert_eq!(json(&frames[1])["usage"]["completion_tokens"], 1);
    }

    #[test]
    fn a_broken_stream_ends_with_an_error_and_without_done() {
        for last in [vec![Event::Failed("no".to_owned())], vec![]] {
            let events = std::iter::once(token("a", None)).chain(last).collect();
            let frames = frames(Endpoint::Completion, true, false, events);
            assert_eq!(frames.len(), 2);
            assert!(json(&frames[1])["error"]["message"].is_string());
        }
    }
}
