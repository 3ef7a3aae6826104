"""A small decoder trained by JAX with optax, saved by orbax.

The lines are those of Cotenant's own trainer, so that a site file needs only `log: { format: cotenant }`.
"""

import os
import time
from pathlib import Path

from train_common import corpus, options, run, say, size_of

arguments = options(__doc__).parse_args()
# XLA makes its threads when it is first used, so their number is fixed before it is there.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
if arguments.threads == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false " + os.environ.get("XLA_FLAGS", "")

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp

jax.config.update("jax_compilation_cache_dir", str(Path(arguments.folder).absolute() / "compiled"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def initial(width, layers, length):
    keys = iter(jax.random.split(jax.random.key(1), 4 * layers + 3))
    matrix = lambda rows, columns: jax.random.normal(next(keys), (rows, columns)) / rows**0.5
    layer = lambda: {
        "qkv": matrix(width, 3 * width),
        "mix": matrix(width, width),
        "up": matrix(width, 4 * width),
        "down": matrix(4 * width, width),
    }
    return {
        "tokens": matrix(256, width),
        "places": matrix(length, width),
        "layers": [layer() for _ in range(layers)],
        "out": matrix(width, 256),
    }


def normal(x):
    return x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def logits(parameters, x, heads):
    batch, length = x.shape
    x = parameters["tokens"][x] + parameters["places"]
    width = x.shape[-1]
    mask = jnp.where(jnp.tril(jnp.ones((length, length), bool)), 0.0, -1e9)
    for layer in parameters["layers"]:
        split = (normal(x) @ layer["qkv"]).reshape(batch, length, 3, heads, width // heads)
        q, k, v = jnp.moveaxis(split, 2, 0)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (width // heads) ** 0.5 + mask
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(batch, length, width)
        x = x + mixed @ layer["mix"]
        x = x + jax.nn.gelu(normal(x) @ layer["up"]) @ layer["down"]
    return normal(x) @ parameters["out"]


class Trainer:
    def __init__(self):
        self.text = np.frombuffer(corpus(), np.uint8)
        self.optimizer = optax.adamw(3e-4)
        parameters = initial(arguments.width, arguments.layers, arguments.length)
        self.state = {"parameters": parameters, "optimizer": self.optimizer.init(parameters)}
        heads = max(1, arguments.width // 32)

        def loss_of(parameters, batch):
            found = logits(parameters, batch[:, :-1], heads)
            return optax.softmax_cross_entropy_with_integer_labels(found, batch[:, 1:]).mean()

        @jax.jit
        def update(state, batch):
            loss, gradient = jax.value_and_grad(loss_of)(state["parameters"], batch)
            changes, optimizer = self.optimizer.update(gradient, state["optimizer"], state["parameters"])
            return {"parameters": optax.apply_updates(state["parameters"], changes), "optimizer": optimizer}, loss

        self.update = update
        self.manager = ocp.CheckpointManager(
            Path(arguments.folder).absolute() / "states",
            options=ocp.CheckpointManagerOptions(
                max_to_keep=arguments.keep, enable_async_checkpointing=arguments.checkpoint == "async"
            ),
        )
        self.pending = None

    def restore(self):
        newest = self.manager.latest_step()
        if newest is None:
            return 0
        like = jax.tree.map(ocp.utils.to_shape_dtype_struct, self.state)
        self.state = self.manager.restore(newest, args=ocp.args.StandardRestore(like))
        return newest

    def step(self, number):
        draw = np.random.default_rng(number)
        starts = draw.integers(len(self.text) - arguments.length - 1, size=(arguments.batch, 1))
        batch = self.text[starts + np.arange(arguments.length + 1)].astype(np.int32)
        self.state, loss = self.update(self.state, batch)
        return float(loss)

    def save(self, step, wait):
        self.written(wait=True)
        if step in self.manager.all_steps():
            return
        began = time.monotonic()
        self.manager.save(step, args=ocp.args.StandardSave(self.state), force=True)
        self.pending = (step, began, time.monotonic() - began)
        self.written(wait)

    def written(self, wait):
        if self.pending is None or (not wait and self.manager.is_saving_in_progress()):
            return
        self.manager.wait_until_finished()
        step, began, blocked_s = self.pending
        self.pending = None
        seconds = time.monotonic() - began
        size = size_of(self.manager.directory / str(step))
        say(
            f"checkpoint step={step} seconds={seconds:.3f} bytes={size} "
            f"mode={arguments.checkpoint} blocked_s={blocked_s:.3f}"
        )

    def close(self):
        self.manager.close()


if __name__ == "__main__":
    run(arguments, Trainer())
