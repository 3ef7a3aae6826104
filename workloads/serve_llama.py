"""Runs llama.cpp's own server, which the wheel of xllamacpp carries, until SIGTERM.

    serve_llama.py MODEL PORT [THREADS]
"""

import signal
import sys

import xllamacpp

model, port = sys.argv[1], int(sys.argv[2])
threads = int(sys.argv[3]) if len(sys.argv) > 3 else 1

signals = {signal.SIGTERM, signal.SIGINT}
# Blocked before the server makes its threads, so that none of them takes the signal.
signal.pthread_sigmask(signal.SIG_BLOCK, signals)

settings = xllamacpp.CommonParams()
settings.model.path = model
settings.model_alias = {"smollm2"}
settings.hostnames = ["127.0.0.1"]
settings.port = port
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
settings.n_parallel = 4
settings.n_ctx = 8192
settings.cont_batching = True
settings.endpoint_metrics = True
settings.ui = False

server = xllamacpp.Server(settings)
print(f"listening on {server.listening_address}", flush=True)
signal.sigwait(signals)
# The server's own threads end with the process.
sys.stdout.flush()
import os

os._exit(0)
