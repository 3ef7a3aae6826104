//! Triton's generate extension: the request's body, and what one event of `generate_stream` carries.
//!
//! Each event is one answer of a decoupled model:
//! `{"model_name":"m","model_version":"1","text_output":"…"}`, with no end marker: the stream ends
//! where HTTP says that it does. No count of tokens is in it unless the model gives one. The vLLM
//! backend does when it is asked, as `num_output_tokens` (new ones of this event) and
//! `num_input_tokens`; other models ignore the question. Without a count an event is one chunk of
//! unknown size, as it is everywhere here.
//! <https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/protocol/extension_generate.html>

use serde_json::{Map, Value};

use super::chunk::{Chunk, MalformedChunk, Usage, error_words, excerpt};

/// Path of the endpoint of a model.
pub(super) fn path(base: &str, model: &str) -> String {
    format!("{base}/v2/models/{model}/generate_stream")
}

/// The body around the prompt and the token count. What is no input of the model becomes a parameter
/// of the request, which its backend reads or leaves.
pub(super) fn body_parts(ignore_eos: bool, extra: &Map<String, Value>) -> [Vec<u8>; 3] {
    let mut fields = Map::new();
    fields.insert("stream".to_owned(), Value::from(true));
    fields.insert("temperature".to_owned(), Value::from(0));
    fields.insert("return_num_input_tokens".to_owned(), Value::from(true));
    fields.insert("return_num_output_tokens".to_owned(), Value::from(true));
    if ignore_eos {
        fields.insert("ignore_eos".to_owned(), Value::from(true));
    }
    fields.extend(extra.clone());
    let rest = Value::from(fields).to_string();
    let after = format!(",{}", &rest[1..]);
    [br#"{"text_input":"#.to_vec(), br#","max_tokens":"#.to_vec(), after.into_bytes()]
}

/// Says what an event carries. `before` is what the events before it have counted.
///
/// # Errors
/// The text is not a JSON object.
pub(super) fn classify(data: &[u8], before: Option<Usage>) -> Result<Chunk, MalformedChunk> {
    let malformed = |reason: String| MalformedChunk { reason, text: excerpt(data) };
    let value: Value =
        serde_json::from_slice(data).map_err(|error| malformed(error.to_string()))?;
    let Value::Object(object) = &value else {
        return Err(malformed("not a JSON object".to_owned()));
    };
    if let Some(error) = object.get("error").filter(|error| !error.is_null()) {
        return Ok(Chunk { error: Some(error_words(error)), ..Chunk::default() });
    }
    let count = |key: &str| {
        object.get(key).and_then(Value::as_u64).and_then(|tokens| u32::try_from(tokens).ok())
    };
    let new_tokens = count("num_output_tokens");
    // Counted tokens without text are half a character that the next event completes.
    let token = new_tokens.is_some_and(|tokens| tokens > 0)
        || object.get("text_output").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let usage = new_tokens.map(|tokens| Usage {
        prompt_tokens: count("num_input_tokens"),
        completion_tokens: before.map_or(0, |usage| usage.completion_tokens).saturating_add(tokens),
    });
    Ok(Chunk { token, visible: token, usage, error: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event as Triton 2.51 wrote it.
    const EVENT: &[u8] = br#"{"model_name":"writer","model_version":"1","num_input_tokens":11,"num_output_tokens":1,"text_output":"Y"}"#;

    #[test]
    fn counts_of_events_add_up() {
        let first = classify(EVENT, None).unwrap();
        assert!(first.token && first.visible);
        assert_eq!(first.usage, Some(Usage { prompt_tokens: Some(11), completion_tokens: 1 }));
        let second = classify(EVENT, first.usage).unwrap();
        assert_eq!(second.usage.map(|usage| usage.completion_tokens), Some(2));
    }

    #[test]
    fn an_event_without_a_count_has_none() {
        let chunk = classify(br#"{"model_name":"m","text_output":"a few words"}"#, None).unwrap();
        assert_eq!((chunk.token, chunk.usage), (true, None));
        let empty = classify(br#"{"model_name":"m","text_output":""}"#, None).unwrap();
        assert!(!empty.token);
        let half = classify(br#"{"text_output":"","num_output_tokens":1}"#, None).unwrap();
        assert!(half.token);
    }

    #[test]
    fn errors_and_other_texts_are_told_apart() {
        let chunk = classify(br#"{"error":"out of blocks"}"#, None).unwrap();
        assert_eq!(chunk.error.as_deref(), Some("out of blocks"));
        assert!(classify(b"[1]", None).is_err());
        assert!(classify(b"{\"text_output\":", None).is_err());
    }

    #[test]
    fn the_body_is_one_json_object() {
        let extra = Map::from_iter([("top_p".to_owned(), Value::from(0.5))]);
        let [before, between, after] = body_parts(true, &extra);
        let body = [&before[..], b"\"hello\"", &between[..], b"7", &after[..]].concat();
        let value: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(value["text_input"], "hello");
        assert_eq!(value["max_tokens"], 7);
        assert_eq!((&value["stream"], &value["top_p"]), (&Value::from(true), &Value::from(0.5)));
        assert_eq!(path("/triton", "m"), "/triton/v2/models/m/generate_stream");
    }
}
