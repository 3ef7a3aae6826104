"""Measures load clients against one server of known times: see compare-clients in this folder.

Each client sends streams at a constant rate from one core to the mock server on another. The server
records when it read each request and when it wrote each token; what a client's own output file says is
held against that. Nothing but Python's standard library is needed here.
"""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

FIRST_TOKEN_MS, SPREAD_MS, GAP_MS = 100, 20, 20
PROMPT_TOKENS = 16
CLIENTS = ("cotenant", "vllm", "aiperf", "guidellm")
# A client sustains a level when every stream is whole in its own file and the server saw at least
# this share of the offered rate.
RATE_SHARE_MIN = 0.97
# So that nobody asks a hub for a model called mock; aiperf then takes no tokenizer from a folder.
OFFLINE = {"HF_HUB_OFFLINE": "1"}
SAMPLE_S, MEMORY_EVERY = 0.2, 5
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def fail(words):
    sys.exit(f"compare-clients: {words}")


def quantile(times, q):
    """The ⌈qn⌉-th order statistic; None where there are no times."""
    times = sorted(times)
    return times[max(1, math.ceil(q * len(times))) - 1] if times else None


class Level:
    """A number of streams that are open at once, and the rate that keeps so many open."""

    def __init__(self, streams, seconds, tokens):
        self.streams, self.tokens = streams, tokens
        stream_s = (FIRST_TOKEN_MS + SPREAD_MS / 2 + GAP_MS * (tokens - 1)) / 1000
        self.rate = streams / stream_s
        self.requests = max(2, round(self.rate * seconds))


# Each of these gives the command, the environment and, from the files in `at`, what the client says:
# streams that it calls complete, times to the first token (ms), and times between chunks (ms) or, where
# the client keeps none, the mean time between tokens of each stream (ms).


def cotenant_command(folder, url, level, at, bench):
    streams = str(math.ceil(level.streams * 1.25))
    numbers = [streams, str(level.requests), str(level.tokens), f"{level.rate:.6f}"]
    return [bench, "--load", url, *numbers, at / "result.json"], {}


def cotenant_result(at):
    said = json.loads((at / "result.json").read_text())
    gaps = [gap / 1000 for stream in said["chunk_gaps_us"] for gap in stream]
    return said["completed"], [us / 1000 for us in said["first_token_us"]], gaps, "chunk"


def vllm_command(folder, url, level, at, bench):
    return [
        folder / "vllm/venv/bin/vllm", "bench", "serve", "--backend", "openai-chat",
        "--endpoint", "/v1/chat/completions", "--base-url", url, "--model", "mock",
        "--tokenizer", folder / "tokenizer", "--dataset-name", "random",
        "--random-input-len", str(PROMPT_TOKENS), "--random-output-len", str(level.tokens),
        "--num-prompts", str(level.requests), "--request-rate", f"{level.rate:.6f}",
        "--burstiness", "inf", "--disable-tqdm", "--ready-check-timeout-sec", "0",
        "--save-result", "--save-detailed", "--result-dir", at, "--result-filename", "result.json",
    ], OFFLINE  # fmt: skip


def vllm_result(at):
    said = json.loads((at / "result.json").read_text())
    # A stream that failed has a time of 0.
    first = [s * 1000 for s, error in zip(said["ttfts"], said["errors"]) if not error]
    return said["completed"], first, [s * 1000 for stream in said["itls"] for s in stream], "chunk"


def aiperf_command(folder, url, level, at, bench):
    return [
        folder / "aiperf/venv/bin/aiperf", "profile", "-m", "mock", "--endpoint-type", "chat",
        "--streaming", "-u", url, "--tokenizer", folder / "tokenizer",
        "--isl", str(PROMPT_TOKENS), "--osl", str(level.tokens), "--use-server-token-count",
        "--request-rate", f"{level.rate:.6f}", "--arrival-pattern", "constant",
        "--request-count", str(level.requests), "--workers-max", "1",
        "--record-processor-service-count", "1", "--ui", "none", "--no-gpu-telemetry",
        "--no-server-metrics", "--output-artifact-dir", at,
    ], {}  # fmt: skip


def aiperf_result(at):
    complete, first, gaps = 0, [], []
    with (at / "profile_export.jsonl").open() as lines:
        for line in lines:
            record = json.loads(line)
            if record.get("error"):
                continue
            complete += 1
            first.append(record["metrics"]["time_to_first_token"]["value"])
            gaps += record["metrics"]["inter_chunk_latency"]["value"]
    return complete, first, gaps, "chunk"


def guidellm_command(folder, url, level, at, bench):
    data = f"kind=synthetic_text,prompt_tokens={PROMPT_TOKENS},output_tokens={level.tokens}"
    return [
        folder / "guidellm/venv/bin/guidellm", "run",
        "--backend", f"kind=openai_http,target={url},model=mock",
        "--tokenizer", f"kind=huggingface_auto,model={folder / 'tokenizer'}",
        "--profile", f"kind=constant,rate={level.rate:.6f}",
        "--constraint", f"kind=max_requests,count={level.requests}", "--data", data,
        "--output", f"kind=json,path={at / 'benchmarks.json'}", "--disable-console",
    ], {**OFFLINE, "GUIDELLM__MAX_WORKER_PROCESSES": "1"}  # fmt: skip


def guidellm_result(at):
    said = json.loads((at / "benchmarks.json").read_text())
    whole = said["benchmarks"][0]["requests"]["successful"]
    first = [request["time_to_first_token_ms"] for request in whole]
    return len(whole), first, [request["inter_token_latency_ms"] for request in whole], "stream mean"


COMMANDS = {
    "cotenant": (cotenant_command, cotenant_result),
    "vllm": (vllm_command, vllm_result),
    "aiperf": (aiperf_command, aiperf_result),
    "guidellm": (guidellm_command, guidellm_result),
}


class Server:
    """The mock server on its core."""

    def __init__(self, bench, core):
        times = [str(FIRST_TOKEN_MS), str(SPREAD_MS), str(GAP_MS)]
        command = ["taskset", "-c", str(core), bench, "--serve", "0", *times]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url.startswith("http://"):
            self.process.kill()
            fail(f"the mock server did not start: {' '.join(map(str, command))}")

    def stop(self):
        """Ends it; what it saw."""
        self.process.stdin.close()
        told = self.process.stdout.read()
        self.process.wait()
        return json.loads(told)["seen"]


def tree(pid):
    """A process and all that descend from it, as /proc has them now."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from tree(int(child))


class Watch(threading.Thread):
    """Samples the CPU time and the memory of a process with all its descendants."""

    def __init__(self, pid, core):
        super().__init__(daemon=True)
        self.pid, self.core = pid, core
        self.samples, self.memory_kib_max, self.pids = [], 0, set()
        self.done = threading.Event()

    def run(self):
        thread = threading.get_native_id()
        os.sched_setaffinity(thread, {self.core})
        os.setpriority(os.PRIO_PROCESS, thread, 10)
        for number in range(1 << 30):
            pids = list(tree(self.pid))
            self.pids.update(pids)
            self.samples.append((time.monotonic_ns(), sum(map(self.cpu_s, pids))))
            if number % MEMORY_EVERY == 0:
                self.memory_kib_max = max(self.memory_kib_max, sum(map(self.memory_kib, pids)))
            if self.done.wait(SAMPLE_S):
                return

    @staticmethod
    def cpu_s(pid):
        """Its own CPU time and that of its children that have ended."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return sum(map(int, fields[11:15])) * TICK_S

    @staticmethod
    def memory_kib(pid):
        """Its proportional share of memory: pages that processes share are counted once."""
        try:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    return int(line.split()[1])
        except OSError:
            pass
        return 0

    def cpu_at(self, ns):
        """CPU time used up to a monotonic time, between two samples along a straight line."""
        before = self.samples[0]
        for after in self.samples:
            if after[0] >= ns:
                share = (ns - before[0]) / max(1, after[0] - before[0])
                return before[1] + max(0.0, share) * (after[1] - before[1])
            before = after
        return before[1]


def run_client(command, environment, at, options):
    """Runs a client on its core; its watch, its exit status and its whole CPU time."""
    client_core, server_core = options.cores[1], options.cores[0]
    spare = sorted(os.sched_getaffinity(0) - {client_core, server_core})
    with (at / "log").open("w") as log:
        client = subprocess.Popen(
            ["taskset", "-c", str(client_core), *map(str, command)],
            env={**os.environ, "TOKENIZERS_PARALLELISM": "false", **environment},
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=at, start_new_session=True,
        )  # fmt: skip
        watch = Watch(client.pid, spare[0] if spare else server_core)
        watch.start()
        limit = threading.Timer(options.limit, stop_all, (watch,))
        limit.start()
        _, status, usage = os.wait4(client.pid, 0)
        client.returncode = os.waitstatus_to_exitcode(status)
        timed_out = not limit.is_alive()
        limit.cancel()
        watch.done.set()
        watch.join()
    cpu_s = max(usage.ru_utime + usage.ru_stime, watch.samples[-1][1])
    reason = f"was not done after {options.limit} s" if timed_out else None
    if reason is None and client.returncode != 0:
        reason = f"ended with status {client.returncode}"
    return watch, reason, cpu_s


def stop_all(watch):
    """Ends a client that takes too long, and every process that it started."""
    for pid in sorted(watch.pids | set(tree(watch.pid)), reverse=True):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def measure(name, level, options):
    """One client at one level: a row of the table."""
    at = options.dir / "results" / f"{name}-{level.streams}"
    at.mkdir(parents=True, exist_ok=True)
    for old in at.iterdir():
        if old.is_file():
            old.unlink()
    command_of, result_of = COMMANDS[name]
    row = {"client": name, "streams": level.streams, "rate": level.rate, "requests": level.requests}
    row["load_average"] = os.getloadavg()[0]
    server = Server(options.bench, options.cores[0])
    command, environment = command_of(options.dir, server.url, level, at, options.bench)
    watch, reason, cpu_s = run_client(command, environment, at, options)
    seen = server.stop()
    row |= {"seen": seen, "cpu_s": cpu_s, "memory_mib": watch.memory_kib_max / 1024}
    window_ns = seen["last_token_ns"] - seen["first_request_ns"]
    sending_ns = seen["last_request_ns"] - seen["first_request_ns"]
    if window_ns > 0:
        load_cpu_s = watch.cpu_at(seen["last_token_ns"]) - watch.cpu_at(seen["first_request_ns"])
        row["core_share"] = load_cpu_s / (window_ns / 1e9)
        row["tokens_per_cpu_s"] = seen["tokens"] / load_cpu_s if load_cpu_s > 0 else None
    if sending_ns > 0:
        row["rate_share"] = (seen["requests"] - 1) / (sending_ns / 1e9) / level.rate
    if reason is None:
        try:
            row |= compare(seen, *result_of(at))
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            reason = f"left no result that can be read ({type(error).__name__}: {error})"
    row["failed"] = f"{reason}; see {at / 'log'}" if reason else None
    # A schedule of so many seconds may hold one request more than were asked for.
    whole = row.get("completed") == seen["requests"] >= level.requests
    row["sustained"] = whole and row.get("rate_share", 0) >= RATE_SHARE_MIN
    return row


def compare(seen, completed, first, gaps, kind):
    """What a client says less what the server did, of each quantile."""
    theirs = seen["first_token"], seen["chunk_gap" if kind == "chunk" else "token_gap_mean"]
    row = {"completed": completed, "gap_kind": kind}
    for name, said, did in (("first", first, theirs[0]), ("gap", gaps, theirs[1])):
        for label, q in (("p50", 0.5), ("p99", 0.99)):
            value = quantile(said, q)
            row[f"{name}_error_{label}_ms"] = None if value is None else value - did[f"{label}_us"] / 1000
    return row


def cells(row):
    """A row of the Markdown table."""

    def pair(name):
        values = [row.get(f"{name}_error_{label}_ms") for label in ("p50", "p99")]
        if None in values:
            return "not known"
        return " / ".join(f"{value:+.2f}" for value in values)

    def number(key, form):
        value = row.get(key)
        return "not known" if value is None else format(value, form)

    kind = " (mean of a stream)" if row.get("gap_kind") == "stream mean" else ""
    return [
        row["client"], f"{row['streams']:,}", "yes" if row["sustained"] else "**no**",
        f"{number('completed', ',')} of {row['requests']:,}", number("rate_share", ".0%"),
        f"{row['seen']['streams_open_max']:,}", pair("first"), pair("gap") + kind,
        number("core_share", ".0%"), number("tokens_per_cpu_s", ",.0f"), number("cpu_s", ".1f"),
        number("memory_mib", ",.0f"), f"{row['load_average']:.1f}",
    ]  # fmt: skip


HEADINGS = [
    "client", "streams offered", "sustained", "streams whole", "rate seen of offered", "streams open",
    "TTFT error p50 / p99, ms", "chunk-gap error p50 / p99, ms", "core used", "tokens per CPU-second",
    "CPU s, whole run", "memory, MiB", "load average",
]  # fmt: skip


def arguments():
    parser = argparse.ArgumentParser(
        prog="workloads/compare-clients",
        description="Runs load clients against one mock server, each on one core, and prints a table of how "
        "many streams they sustain, how far their figures are from what the server did, and their cost.",
    )
    parser.add_argument("dir", type=Path, metavar="DIR", help="where the clients are installed")
    parser.add_argument("--clients", default=",".join(CLIENTS), help="some of %(default)s")
    parser.add_argument("--levels", default="50,200,800", help="streams open at once (%(default)s); a "
                        "client that does not sustain one is not asked for more")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=10, help="of sending at each level (%(default)s)")
    parser.add_argument("--tokens", type=int, default=128, help=f"of each stream, {GAP_MS} ms apart (%(default)s)")
    parser.add_argument("--cores", default="0,1", help="of the server and of the client (%(default)s)")
    parser.add_argument("--limit", type=float, default=120, help="seconds that one run may take (%(default)s)")
    parser.add_argument("--bench", type=Path, help="a release build of the example client_bench; else it is built")
    options = parser.parse_args()
    options.dir = options.dir.resolve()
    options.clients = options.clients.split(",")
    for name in options.clients:
        if name not in CLIENTS:
            fail(f"no client is called {name}: {', '.join(CLIENTS)}")
        program = options.dir / name / "venv/bin" / name
        if name != "cotenant" and not program.exists():
            fail(f"{program} is not there: run workloads/compare-clients {options.dir} --install")
    try:
        options.levels = sorted(int(text) for text in options.levels.split(","))
        options.cores = [int(text) for text in options.cores.split(",")]
    except ValueError as error:
        fail(f"--levels and --cores are whole numbers with commas between them: {error}")
    if options.levels[0] < 1 or options.tokens < 2 or options.seconds <= 0:
        fail("a level is at least 1 stream, a stream at least 2 tokens, and the sending longer than 0 s")
    allowed = os.sched_getaffinity(0)
    if len(set(options.cores)) != 2 or not set(options.cores) <= allowed:
        fail(f"--cores needs two different cores of {sorted(allowed)}, not {options.cores}")
    if options.bench is None or not os.access(options.bench, os.X_OK):
        fail(f"--bench names no program: {options.bench}")
    options.bench = options.bench.resolve()
    return options


def main():
    options = arguments()
    print("| " + " | ".join(HEADINGS) + " |")
    print("|---" * len(HEADINGS) + "|", flush=True)
    tired, rows = set(), []
    for streams in options.levels:
        level = Level(streams, options.seconds, options.tokens)
        for name in options.clients:
            if name in tired:
                continue
            row = measure(name, level, options)
            rows.append(row)
            print("| " + " | ".join(cells(row)) + " |", flush=True)
            if row["failed"]:
                print(f"compare-clients: {name} {row['failed']}", file=sys.stderr)
            if not row["sustained"]:
                tired.add(name)
    (options.dir / "results/rows.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
