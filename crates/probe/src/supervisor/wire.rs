//! The guardian's end of the wire: requests in, frames out, and the signals that end it.

use std::os::fd::AsFd as _;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use super::protocol::{Frame, Request};

/// The signals that end a guardian.
pub(super) struct Ends {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Ends {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal that ends the guardian.
    pub(super) async fn end(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// Reads requests from standard input. The channel ends with the stream: the measuring process has
/// gone, however it went.
pub(super) fn read_requests() -> std::io::Result<mpsc::Receiver<Request>> {
    let stdin = pipe::Receiver::from_owned_fd(std::io::stdin().as_fd().try_clone_to_owned()?)?;
    let (sender, receiver) = mpsc::channel(16);
    tokio::spawn(async move {
        let mut lines = BufReader::new(stdin).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            // A line that is no request means that the other end is not ours: end.
            let Ok(request) = serde_json::from_str(&line) else { return };
            if sender.send(request).await.is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

/// Writes frames to standard output, those of control first, until nobody listens; the receiver says
/// when that is.
pub(super) fn write_frames(
    mut control: mpsc::UnboundedReceiver<Frame>,
    mut output: mpsc::Receiver<Frame>,
) -> std::io::Result<oneshot::Receiver<()>> {
    let mut stdout = pipe::Sender::from_owned_fd(std::io::stdout().as_fd().try_clone_to_owned()?)?;
    let (deaf, is_deaf) = oneshot::channel::<()>();
    tokio::spawn(async move {
        // Dropped with this task, which the receiver then sees.
        let _deaf = deaf;
        let mut bytes = Vec::new();
        loop {
            let frame = tokio::select! {
                biased;
                Some(frame) = control.recv() => frame,
                Some(frame) = output.recv() => frame,
                else => return,
            };
            bytes.clear();
            let written = serde_json::to_writer(&mut bytes, &frame).is_ok();
            bytes.push(b'\n');
            if !written || stdout.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    Ok(is_deaf)
}
