//! Start and end of the server.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{oneshot, watch};

use super::arguments::ServeArgs;
use super::http::{Server, router};
use super::metrics::Metrics;
use super::protocol::ServedModel;
use super::queue::JobQueue;
use super::scheduler::{self, Limits, Shared};
use crate::model::{DecoderWeights, InferenceModel, Segment, initial_tensors};
use crate::{EngineError, threads};

/// How long answers that were aborted may take to be written.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// Serves the reference model until SIGTERM or SIGINT, then lets running requests finish within the grace.
///
/// When `--threads` is not what the process was started with, the process replaces itself once (same program, arguments,
/// process id and streams) so that the limit binds. Once requests can be sent, stdout gets the line
/// `cotenant-engine: listening on http://HOST:PORT model NAME`. The call must not be made inside an async runtime.
///
/// A second signal ends the grace at once.
///
/// # Errors
/// [`EngineError`]; see its variants.
#[expect(clippy::needless_pass_by_value, reason = "an entry point that owns its arguments")]
pub fn serve(args: ServeArgs) -> Result<(), EngineError> {
    args.check()?;
    args.model.config(args.model_size)?;
    threads::bind(args.model.threads.unwrap_or_else(threads::default_threads))?;
    let model = load_model(&args)?;
    let shared = Arc::new(Shared {
        queue: JobQueue::new(args.queue_max as usize),
        metrics: Metrics::new(u64::from(args.kv_tokens)),
        abort: AtomicBool::new(false),
    });
    let limits = Limits {
        sequences: args.max_sequences as usize,
        batched_tokens: args.max_batched_tokens as usize,
        kv_tokens: args.kv_tokens as usize,
    };
    let (ended, compute_ended) = oneshot::channel();
    let guard = EndGuard { shared: Arc::clone(&shared), _ended: ended };
    let compute = std::thread::Builder::new()
        .name("engine-compute".to_owned())
        .spawn(move || {
            let guard = guard;
            threads::inside_pool(|| scheduler::run(&model, limits, &guard.shared));
        })
        .map_err(EngineError::io("start the compute thread"))?;
    let result = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(EngineError::io("start the network runtime"))
        .and_then(|runtime| runtime.block_on(serve_until_signal(&args, &shared, compute_ended)));
    shared.abort.store(true, Ordering::Relaxed);
    drop(shared.queue.stop());
    let joined = compute.join().map_err(|_| EngineError::ThreadEnded("compute"));
    result.and(joined)
}

/// Tells everyone when the compute thread ends, in whatever way.
struct EndGuard {
    shared: Arc<Shared>,
    /// Dropping it wakes the waiting side.
    _ended: oneshot::Sender<()>,
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        drop(self.shared.queue.stop());
    }
}

/// Builds the model and runs it once, so that the first request does not pay for touching the weights.
fn load_model(args: &ServeArgs) -> Result<InferenceModel, EngineError> {
    let config = args.model.config(args.model_size)?;
    let device = args.model.open_device()?;
    let tensors = initial_tensors(&config, args.model.seed, &device)?;
    let weights = DecoderWeights::from_tensors(&config, &tensors)?;
    let positions = args.max_model_len as usize;
    let model = InferenceModel::new(config, weights, positions, &device)?;
    threads::inside_pool(|| -> candle_core::Result<()> {
        let mut cache = model.new_cache(2)?;
        model.forward(&mut [Segment { cache: &mut cache, tokens: &[0, 1], wants_logits: true }])?;
        Ok(())
    })?;
    Ok(model)
}

async fn serve_until_signal(
    args: &ServeArgs,
    shared: &Arc<Shared>,
    compute_ended: oneshot::Receiver<()>,
) -> Result<(), EngineError> {
    let mut signals = StopSignals::new().map_err(EngineError::io("install the signal handlers"))?;
    let address = SocketAddr::new(args.host, args.port);
    let listener = TcpListener::bind(address)
        .await
        .map_err(EngineError::io(format!("listen on {address}")))?;
    let address = listener.local_addr().map_err(EngineError::io("read the listening address"))?;
    let model = ServedModel {
        name: args.model_name(),
        length_max: args.max_model_len as usize,
        kv_tokens_max: args.kv_tokens as usize,
    };
    let line = format!("cotenant-engine: listening on http://{address} model {}\n", model.name);
    let server = Arc::new(Server::new(Arc::clone(shared), model, args.model.seed));
    // Without it the kernel would hold a token back until the client has acknowledged the one before.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let (stop, mut stopped) = watch::channel(false);
    let serving = axum::serve(listener, router(server))
        .with_graceful_shutdown(async move {
            let _ = stopped.wait_for(|&stop| stop).await;
        })
        .into_future();
    let mut serving = std::pin::pin!(serving);
    write_line(&line)?;

    tokio::select! {
        result = &mut serving => return result.map_err(EngineError::io("accept connections")),
        () = signals.next() => {}
        _ = compute_ended => return Err(EngineError::ThreadEnded("compute")),
    }
    let _ = stop.send(true);
    tokio::select! {
        result = &mut serving => return result.map_err(EngineError::io("finish the last connections")),
        () = tokio::time::sleep(Duration::from_secs(args.grace_s)) => {}
        () = signals.next() => {}
    }
    shared.abort.store(true, Ordering::Relaxed);
    for job in shared.queue.stop() {
        shared.metrics.aborted.fetch_add(1, Ordering::Relaxed);
        drop(job);
    }
    match tokio::time::timeout(ABORT_GRACE, serving).await {
        Ok(result) => result.map_err(EngineError::io("finish the last connections")),
        // Connections that do not end are cut; their requests were told.
        Err(_) => Ok(()),
    }
}

fn write_line(line: &str) -> Result<(), EngineError> {
    let mut output = std::io::stdout();
    output
        .write_all(line.as_bytes())
        .and_then(|()| output.flush())
        .map_err(EngineError::io("write to standard output"))
}

/// SIGTERM and SIGINT.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
