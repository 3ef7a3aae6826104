//! The stream parser and the reading of chunks: properties and cases.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use cotenant_probe::load::{
    Chunk, Continue, EVENT_BYTES_MAX, SseError, SseParser, Usage, classify, classify_slowly,
};
use proptest::prelude::*;

type Events = Vec<(Vec<u8>, Vec<u8>)>;

/// The events of a stream that arrives in these pieces.
fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Events {
    let mut parser = SseParser::new();
    let mut found = Vec::new();
    for piece in pieces {
        parser
            .push(piece, |event| {
                found.push((event.name.to_vec(), event.data.to_vec()));
                Continue::Yes
            })
            .unwrap();
    }
    parser.finish(|event| {
        found.push((event.name.to_vec(), event.data.to_vec()));
        Continue::Yes
    });
    found
}

fn data(texts: &[&str]) -> Events {
    texts.iter().map(|text| (Vec::new(), text.as_bytes().to_vec())).collect()
}

#[track_caller]
fn check(stream: &str, expected: &[&str]) {
    assert_eq!(events([stream.as_bytes()]), data(expected), "{stream:?}");
}

#[test]
fn the_grammar_of_the_standard() {
    check("data: a\n\ndata: b\n\n", &["a", "b"]);
    check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
    check("data: a\r\rdata: b\r\r", &["a", "b"]);
    check("data:a\n\n", &["a"]);
    check("data:  a\n\n", &[" a"]);
    check("data: a\ndata: b\n\n", &["a\nb"]);
    check("data\n\n", &[""]);
    check("data\ndata\n\n", &["\n"]);
    check(": a comment\n\ndata: a\n: another\n\n", &["a"]);
    check("id: 7\nretry: 10\nunknown: x\ndata: a\n\n", &["a"]);
    check("\u{feff}data: a\n\n", &["a"]);
    // An event whose blank line never came is discarded, but for the end marker.
    check("data: a\n\ndata: b\n", &["a"]);
    check("data: a\n\ndata: [DONE]\n", &["a", "[DONE]"]);
    check("data: a\n\ndata: [DONE]", &["a", "[DONE]"]);
    check("", &[]);
    check("\n\n\n", &[]);
    let named = events([b"event: error\ndata: x\n\ndata: y\n\n".as_slice()]);
    assert_eq!(named[0], (b"error".to_vec(), b"x".to_vec()));
    assert_eq!(named[1], (Vec::new(), b"y".to_vec()), "a name belongs to one event");
}

#[test]
fn an_event_without_end_is_an_error_and_no_memory() {
    let mut parser = SseParser::new();
    let piece = vec![b'x'; 64 << 10];
    let mut pushed = 0;
    let error = loop {
        assert!(parser.held_bytes() <= EVENT_BYTES_MAX);
        match parser.push(&piece, |_| Continue::Yes) {
            Ok(()) => pushed += piece.len(),
            Err(error) => break error,
        }
    };
    assert_eq!(error, SseError::EventTooLong);
    assert!(pushed <= EVENT_BYTES_MAX);

    let mut parser = SseParser::new();
    let lines = b"data: 0123456789\n".repeat(EVENT_BYTES_MAX / 10);
    assert_eq!(parser.push(&lines, |_| Continue::Yes), Err(SseError::EventTooLong));
}

fn chunk(token: bool, visible: bool) -> Chunk {
    Chunk { token, visible, ..Chunk::default() }
}

#[track_caller]
fn carries(text: &str, expected: &Chunk) {
    assert_eq!(&classify(text.as_bytes()).unwrap(), expected, "{text}");
    assert_eq!(&classify_slowly(text.as_bytes()).unwrap(), expected, "slowly: {text}");
}

#[test]
fn what_counts_as_a_token() {
    let delta = |inner: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{{inner}}}}}]}}"#);
    for visible in [
        r#""content":"a""#,
        r#""content":[{"type":"text","text":"a"}]"#,
        r#""role":"assistant","content":" ""#,
        r#""refusal":"no""#,
        r#""tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]"#,
        r#""content":"quote \" and back\\slash""#,
        r#""function_call":{"name":"f"}"#,
    ] {
        carries(&delta(visible), &chunk(true, true));
    }
    for hidden in [
        r#""reasoning":"a""#,
        r#""reasoning_content":"a","content":null"#,
        r#""reasoning_content":"a","content":"""#,
        r#""reasoning_details":[{"text":"a"}]"#,
    ] {
        carries(&delta(hidden), &chunk(true, false));
    }
    for nothing in [
        r#""role":"assistant""#,
        r#""role":"assistant","content":"""#,
        r#""content":null"#,
        r#""content":"","reasoning_content":null,"tool_calls":[]"#,
        "",
    ] {
        carries(&delta(nothing), &chunk(false, false));
    }
    carries(r#"{"choices":[{"text":"a"}]}"#, &chunk(true, true));
    carries(r#"{"choices":[{"text":"","finish_reason":"stop"}]}"#, &chunk(false, false));
    carries(r#"{"choices":[],"usage":null,"error":null}"#, &chunk(false, false));
    carries(r#" { "choices" : [ { "delta" : { "content" : "a" } } ] } "#, &chunk(true, true));
    // A word in a text is no field, and a field elsewhere is no token.
    carries(r#"{"choices":[],"note":"\"content\":\"a\""}"#, &chunk(false, false));
    carries(r#"{"content":"a","delta":{"content":"a"},"choices":[]}"#, &chunk(false, false));
    carries(
        r#"{"choices":[{"logprobs":{"content":[{"token":"a"}]},"delta":{}}]}"#,
        &chunk(false, false),
    );
    // An escaped key is left to the whole parser, which knows it.
    carries(r#"{"choices":[{"delta":{"\u0063ontent":"a"}}]}"#, &chunk(true, true));
}

#[test]
fn usage_and_errors() {
    let usage = |prompt, completion| Chunk {
        usage: Some(Usage { prompt_tokens: prompt, completion_tokens: completion }),
        ..Chunk::default()
    };
    carries(
        r#"{"choices":[],"usage":{"prompt_tokens":7,"total_tokens":12,"completion_tokens":5}}"#,
        &usage(Some(7), 5),
    );
    carries(
        r#"{"choices":[],"usage":{"completion_tokens":5,"completion_tokens_details":{"a":1}}}"#,
        &usage(None, 5),
    );
    carries(r#"{"choices":[],"usage":{"prompt_tokens":7}}"#, &Chunk::default());
    carries(r#"{"choices":[],"usage":{"completion_tokens":-1}}"#, &Chunk::default());
    let error = classify(br#"{"error":{"message":"out of memory","code":500}}"#).unwrap();
    assert_eq!(error.error.as_deref(), Some("out of memory"));
    let error = classify(br#"{"error":"gone"}"#).unwrap();
    assert_eq!(error.error.as_deref(), Some("gone"));
    let error = classify(br#"{"object":"error","message":"too long"}"#).unwrap();
    assert_eq!(error.error.as_deref(), Some("too long"));
    for malformed in [r#"{"choices":[{"delta":{"content":"a"}"#, "hello", "[1]", "", "{]", "\u{7f}"]
    {
        let error = classify(malformed.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("malformed chunk"), "{error}");
    }
}

/// JSON of the shapes that chunks have, and of shapes that they should not have.
fn chunk_text() -> impl Strategy<Value = String> {
    let text = "[a-z\"\\\\é ]{0,6}".prop_map(serde_json::Value::from);
    let leaf = prop_oneof![
        text,
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i32>().prop_map(serde_json::Value::from),
        (-1e6_f64..1e6).prop_map(serde_json::Value::from),
    ];
    let key = prop_oneof![
        Just("choices"),
        Just("delta"),
        Just("content"),
        Just("reasoning"),
        Just("text"),
        Just("tool_calls"),
        Just("usage"),
        Just("prompt_tokens"),
        Just("completion_tokens"),
        Just("error"),
        Just("object"),
        Just("x\"y"),
    ];
    let tree = leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(serde_json::Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..5).prop_map(|fields| {
                serde_json::Value::Object(
                    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                )
            }),
        ]
    });
    let choice = prop::collection::btree_map(
        prop_oneof![Just("delta"), Just("text"), Just("content"), Just("index")],
        tree.clone(),
        0..3,
    );
    (prop::collection::vec(choice, 0..3), tree.clone(), tree).prop_map(|(choices, usage, top)| {
        let mut object = match top {
            serde_json::Value::Object(object) => object,
            _ => serde_json::Map::new(),
        };
        object.insert("choices".to_owned(), serde_json::to_value(choices).unwrap());
        object.insert("usage".to_owned(), usage);
        serde_json::Value::Object(object).to_string()
    })
}

proptest! {
    /// The quick walk and the whole parse agree on every JSON object.
    #[test]
    fn the_walk_agrees_with_the_parser(text in chunk_text()) {
        prop_assert_eq!(classify(text.as_bytes()), classify_slowly(text.as_bytes()), "{}", text);
    }

    /// A chunk that is cut is malformed, wherever it is cut.
    #[test]
    fn a_cut_chunk_is_malformed(text in chunk_text(), at in any::<prop::sample::Index>()) {
        let cut = at.index(text.len());
        prop_assert!(classify(&text.as_bytes()[..cut]).is_err(), "{}", &text[..text.floor_char_boundary(cut)]);
    }

    #[test]
    fn bytes_of_any_kind_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = classify(&bytes);
        let _ = events([bytes.as_slice()]);
    }

    /// However a stream is cut into reads, its events are the same.
    #[test]
    fn the_cuts_between_reads_change_nothing(
        lines in prop::collection::vec(
            prop_oneof![
                Just("data: a"), Just("data:{\"x\":1}"), Just("data"), Just(""), Just(": note"),
                Just("event: error"), Just("data: [DONE]"), Just("\u{feff}data: b"), Just("id: 1"),
            ],
            0..20,
        ),
        ends in prop::collection::vec(prop_oneof![Just("\n"), Just("\r\n"), Just("\r")], 20),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let stream: String =
            lines.iter().zip(&ends).flat_map(|(line, end)| [*line, *end]).collect();
        let bytes = stream.as_bytes();
        let mut places: Vec<usize> =
            cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(events(pieces), events([bytes]));
        prop_assert_eq!(events(bytes.chunks(1)), events([bytes]));
    }

    #[test]
    fn random_bytes_cut_at_random_change_nothing(
        bytes in prop::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'), Just(b' '), any::<u8>()],
            0..200,
        ),
        size in 1_usize..9,
    ) {
        prop_assert_eq!(events(bytes.chunks(size)), events([bytes.as_slice()]));
    }
}
