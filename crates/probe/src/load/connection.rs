//! One HTTP/1.1 connection whose bytes are stamped as they pass.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Most bytes that a connection holds unread, the head of an answer included: a thousand streams
/// that all wait to be read stay within 16 MiB.
const BUFFER_BYTES_MAX: usize = 16 << 10;

/// Nanoseconds since `start`, 0 before it.
pub(super) fn ns_since(start: Instant) -> u64 {
    Instant::now().saturating_duration_since(start).as_nanos() as u64
}

/// When bytes last came and first went, in nanoseconds from the block's start; 0 for never.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    read_ns: AtomicU64,
    write_ns: AtomicU64,
}

impl Stamps {
    /// When the last read returned; `None` where nothing was read for this request yet.
    pub(super) fn read_ns(&self) -> Option<u64> {
        Some(self.read_ns.load(Ordering::Relaxed)).filter(|ns| *ns != 0)
    }

    /// When the first write began; `None` where nothing was written for this request yet.
    pub(super) fn write_ns(&self) -> Option<u64> {
        Some(self.write_ns.load(Ordering::Relaxed)).filter(|ns| *ns != 0)
    }

    fn clear(&self) {
        self.read_ns.store(0, Ordering::Relaxed);
        self.write_ns.store(0, Ordering::Relaxed);
    }
}

/// A socket that notes the time of each read, before anything is parsed.
#[derive(Debug)]
pub(super) struct StampedStream {
    socket: TcpStream,
    stamps: Arc<Stamps>,
    start: Instant,
}

impl StampedStream {
    fn note_write(&self) {
        if self.stamps.write_ns.load(Ordering::Relaxed) == 0 {
            // The first nanosecond of a block is as good as the start itself.
            self.stamps.write_ns.store(ns_since(self.start).max(1), Ordering::Relaxed);
        }
    }
}

impl AsyncRead for StampedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.socket).poll_read(context, buffer);
        if poll.is_ready() && buffer.filled().len() > before {
            self.stamps.read_ns.store(ns_since(self.start).max(1), Ordering::Relaxed);
        }
        poll
    }
}

impl AsyncWrite for StampedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.note_write();
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.note_write();
        Pin::new(&mut self.socket).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

type Driver = http1::Connection<TokioIo<StampedStream>, Full<Bytes>>;

/// A connection with the half that moves its bytes. No task of its own drives it: whoever waits
/// for an answer drives it in the same poll, which saves a task switch for every token.
#[derive(Debug)]
pub(super) struct Connection {
    /// The half that takes requests.
    pub(super) sender: http1::SendRequest<Full<Bytes>>,
    driver: Driver,
    driver_done: bool,
    /// Its stamps.
    pub(super) stamps: Arc<Stamps>,
    /// Whether it carried an earlier request.
    pub(super) reused: bool,
    idle_since_ns: u64,
}

impl Connection {
    /// Opens a connection to the first address that takes one.
    pub(super) async fn open(addresses: &[SocketAddr], start: Instant) -> io::Result<Self> {
        let socket = TcpStream::connect(addresses).await?;
        socket.set_nodelay(true)?;
        let stamps = Arc::new(Stamps::default());
        let stream = StampedStream { socket, stamps: Arc::clone(&stamps), start };
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(BUFFER_BYTES_MAX)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        Ok(Self { sender, driver, driver_done: false, stamps, reused: false, idle_since_ns: 0 })
    }

    /// Waits for `future` and moves the connection's bytes meanwhile.
    pub(super) fn poll_with<F: Future>(
        &mut self,
        future: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> Poll<F::Output> {
        // The driver comes first: what it reads is then ready for the future in the same poll.
        self.poll_driver(context);
        future.poll(context)
    }

    /// Moves bytes. An error of the driver also reaches the request, so it is not kept.
    pub(super) fn poll_driver(&mut self, context: &mut Context<'_>) {
        if !self.driver_done {
            self.driver_done = Pin::new(&mut self.driver).poll(context).is_ready();
        }
    }

    /// Whether another request can be sent now. A server that closed the connection while it was
    /// idle is noticed here.
    fn poll_usable(&mut self, context: &mut Context<'_>) -> bool {
        self.poll_driver(context);
        !self.driver_done && matches!(pin!(self.sender.ready()).poll(context), Poll::Ready(Ok(())))
    }
}

/// Kept connections, last in first out, so that few stay warm rather than many lukewarm.
#[derive(Debug, Default)]
pub(super) struct Pool {
    idle: Vec<Connection>,
}

impl Pool {
    /// A connection that can be used at once, if there is one that was idle for at most
    /// `idle_ns_max`.
    pub(super) fn take(
        &mut self,
        now_ns: u64,
        idle_ns_max: u64,
        context: &mut Context<'_>,
    ) -> Option<Connection> {
        while let Some(mut connection) = self.idle.pop() {
            if now_ns.saturating_sub(connection.idle_since_ns) > idle_ns_max {
                // Those below have been idle for longer still.
                self.idle.clear();
                return None;
            }
            if connection.poll_usable(context) {
                connection.stamps.clear();
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection whose answer has been read to its end.
    pub(super) fn give(&mut self, mut connection: Connection, now_ns: u64) {
        if !connection.driver_done && !connection.sender.is_closed() {
            connection.reused = true;
            connection.idle_since_ns = now_ns;
            self.idle.push(connection);
        }
    }
}
