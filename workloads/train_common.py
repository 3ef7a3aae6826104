"""What the two trainers share: their text, their lines, and how they obey signals."""

import os
import signal
import time
from pathlib import Path


def corpus():
    """Bytes to learn: the help texts of this Python, so that nothing is downloaded."""
    from pydoc_data import topics

    return "\n".join(topics.topics[name] for name in sorted(topics.topics)).encode()


def say(line):
    print(line, flush=True)


def size_of(folder):
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


class Signals:
    """SIGTERM and SIGINT ask to stop, SIGUSR1 for a checkpoint; both are obeyed between two steps."""

    def __init__(self):
        self.stop, self.save = None, False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGUSR1, self._save)

    def _stop(self, number, _frame):
        self.stop = signal.Signals(number).name

    def _save(self, _number, _frame):
        self.save = True

    def take_save(self):
        asked, self.save = self.save, False
        return asked


class Clock:
    """Time of each step, from the end of the one before it."""

    def __init__(self):
        self.began = time.monotonic()

    def lap(self):
        now = time.monotonic()
        took, self.began = now - self.began, now
        return took


def options(description):
    import argparse

    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=1_000_000, help="steps of the whole job")
    parser.add_argument("--threads", type=int, default=1, help="threads of the arithmetic")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=8, help="sequences in a step")
    parser.add_argument("--length", type=int, default=128, help="tokens in a sequence")
    parser.add_argument("--folder", default="checkpoints", help="where checkpoints lie")
    parser.add_argument("--every", type=int, default=100, help="steps between two checkpoints; 0: only when asked")
    parser.add_argument("--checkpoint", choices=["sync", "async"], default="sync")
    parser.add_argument("--keep", type=int, default=2, help="checkpoints that are kept")
    return parser


def run(arguments, trainer):
    """The loop. `trainer` has `restore()`, `step(n)`, `save(n, wait)` and `written(wait)`."""
    signals = Signals()
    os.makedirs(arguments.folder, exist_ok=True)
    began = time.monotonic()
    step = trainer.restore()
    if step:
        say(f"resumed step={step} seconds={time.monotonic() - began:.3f}")
    tokens = arguments.batch * arguments.length
    clock, saved = Clock(), step
    while step < arguments.steps and not signals.stop:
        step += 1
        loss = trainer.step(step)
        say(f"step={step} loss={loss:.5f} step_s={clock.lap():.6f} tokens={tokens}")
        due = arguments.every and step % arguments.every == 0
        if signals.take_save() or due:
            trainer.save(step, wait=arguments.checkpoint == "sync")
            saved = step
            # The next step is not charged with the time that saving took.
            clock.lap()
        trainer.written(wait=False)
    if signals.stop:
        say(f"stopping step={step} reason={signals.stop}")
    trainer.written(wait=True)
    if saved != step:
        trainer.save(step, wait=True)
    trainer.close()
    say(f"done step={step}")
