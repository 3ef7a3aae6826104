//! The parser of server-sent events: how bytes are cut changes nothing.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    use cotenant_probe::load::{Continue, SseParser};
    let events = |pieces: &[&[u8]]| {
        let (mut parser, mut events) = (SseParser::new(), Vec::new());
        for piece in pieces {
            let pushed = parser.push(piece, |event| {
                events.push((event.name.to_vec(), event.data.to_vec()));
                Continue::Yes
            });
            if pushed.is_err() {
                break;
            }
        }
        events
    };
    let (cut, rest) = bytes.split_first().map_or((0, bytes), |(cut, rest)| (*cut as usize, rest));
    let (head, tail) = rest.split_at(cut.min(rest.len()));
    assert_eq!(events(&[rest]), events(&[head, tail]));
});
