//! A workload's output: stamped at the read, cut into lines, forwarded, and copied to its log.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};

use super::launch::Stream;
use super::lines::LineCutter;
use super::protocol::Frame;
use crate::clock::monotonic_ns;

/// Bytes of one read: the default capacity of a pipe.
const READ_BYTES: usize = 64 * 1024;
/// Chunks that may wait for the log's disk.
const LOG_CHUNKS_MAX: usize = 256;

/// Reads one stream to its end. A full channel stops the reading, hence in time the workload's
/// writing: output is never lost here.
pub(super) async fn forward(
    id: u32,
    stream: Stream,
    mut pipe: pipe::Receiver,
    frames: mpsc::Sender<Frame>,
    mut log: Option<LogWriter>,
) {
    let mut buffer = vec![0; READ_BYTES];
    let mut cutter = LineCutter::default();
    loop {
        let count = match pipe.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        let at_ns = monotonic_ns();
        if let Some(log) = &mut log {
            log.write(&buffer[..count]);
        }
        let lines = cutter.push(&buffer[..count]);
        if !lines.is_empty()
            && frames.send(Frame::Lines { id, stream, at_ns, lines }).await.is_err()
        {
            return;
        }
    }
    if let Some(line) = cutter.finish() {
        let at_ns = monotonic_ns();
        let _ = frames.send(Frame::Lines { id, stream, at_ns, lines: vec![line] }).await;
    }
}

/// A log file, written by a thread of its own: a disk that is slow (it may be busy with the very
/// checkpoint that is measured) must not delay the stamps. What does not fit in the queue is left
/// out of the log, which says so; it is never left out of what is forwarded.
pub(super) struct LogFile {
    chunks: SyncSender<Vec<u8>>,
    ended: Option<oneshot::Receiver<()>>,
}

impl LogFile {
    /// Makes the file and its thread.
    pub(super) fn create(path: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("log {}: {error}", path.display());
        let mut file = File::create(path).map_err(failed)?;
        let (chunks, received) = sync_channel::<Vec<u8>>(LOG_CHUNKS_MAX);
        let (end, ended) = oneshot::channel::<()>();
        let write = move || {
            // Dropped at the end, which whoever waits then sees.
            let _end = end;
            while let Ok(chunk) = received.recv() {
                if file.write_all(&chunk).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("log".to_owned()).spawn(write).map_err(failed)?;
        Ok(Self { chunks, ended: Some(ended) })
    }

    /// One stream's way into the log.
    pub(super) fn writer(&self) -> LogWriter {
        LogWriter { chunks: self.chunks.clone(), left_out_bytes: 0 }
    }

    /// Closes this end. The receiver fails when everything is written and all writers have gone.
    pub(super) fn end(mut self) -> Option<oneshot::Receiver<()>> {
        self.ended.take()
    }
}

/// One stream's way into a log.
pub(super) struct LogWriter {
    chunks: SyncSender<Vec<u8>>,
    left_out_bytes: u64,
}

impl LogWriter {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunk = Vec::with_capacity(bytes.len());
        if self.left_out_bytes > 0 {
            chunk = format!("\n[{} bytes left out]\n", self.left_out_bytes).into_bytes();
        }
        chunk.extend_from_slice(bytes);
        match self.chunks.try_send(chunk) {
            Ok(()) => self.left_out_bytes = 0,
            Err(TrySendError::Full(_)) => self.left_out_bytes += bytes.len() as u64,
            // The disk refused a write: the log ends there.
            Err(TrySendError::Disconnected(_)) => {}
        }
    }
}
