//! The network stack: streams of TCP over loopback. What arrives is counted.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::cpu::spawn;
use super::run::{Done, Work, count};

/// Bytes of one write.
const PART: usize = 64 << 10;

pub(super) fn start(work: &mut Work<'_>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot connect over loopback: {error}");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    for _ in 0..work.threads() {
        let mut sender = TcpStream::connect(address).map_err(failed)?;
        let (receiver, _) = listener.accept().map_err(failed)?;
        let received = work.done.clone();
        let mut pace = Work::pace(work.settings.rate, work.threads(), 0.02);
        spawn("receive", move || receive(receiver, &received))?;
        spawn("send", move || {
            let content = vec![0x5a_u8; PART];
            let sent = Done::default();
            while sender.write_all(&content).is_ok() {
                count(&sent, &mut pace, PART as u64, 1.0);
            }
        })?;
    }
    Ok(())
}

fn receive(mut stream: TcpStream, received: &Done) {
    let mut content = vec![0_u8; PART];
    while let Ok(length @ 1..) = stream.read(&mut content) {
        received.fetch_add(length as u64, std::sync::atomic::Ordering::Relaxed);
    }
}
