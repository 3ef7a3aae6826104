"""A small decoder trained by PyTorch, saved by Distributed Checkpoint over gloo.

The lines are those of Cotenant's own trainer, so that a site file needs only `log: { format: cotenant }`.
"""

import os
import shutil
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from train_common import corpus, options, run, say, size_of


class Decoder(nn.Module):
    def __init__(self, width, layers, length):
        super().__init__()
        self.tokens = nn.Embedding(256, width)
        self.places = nn.Embedding(length, width)
        layer = lambda: nn.TransformerEncoderLayer(
            width, max(1, width // 32), 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.ModuleList(layer() for _ in range(layers))
        self.out = nn.Linear(width, 256)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length), persistent=False)

    def forward(self, x):
        x = self.tokens(x) + self.places.weight
        for layer in self.layers:
            x = layer(x, src_mask=self.mask, is_causal=True)
        return self.out(x)


class Trainer:
    def __init__(self, arguments):
        self.arguments = arguments
        torch.manual_seed(1)
        torch.set_num_threads(arguments.threads)
        self.text = torch.tensor(list(corpus()), dtype=torch.long)
        self.model = Decoder(arguments.width, arguments.layers, arguments.length)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4)
        self.pending = None

    def state(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def folder(self, step):
        return Path(self.arguments.folder) / f"step-{step:09}"

    def whole(self):
        """Folders of whole checkpoints: one gets its name only when all of it is on disk."""
        return sorted(Path(self.arguments.folder).glob("step-" + "[0-9]" * 9))

    def restore(self):
        for left in Path(self.arguments.folder).glob("*.partial"):
            shutil.rmtree(left)
        if not self.whole():
            return 0
        newest = self.whole()[-1]
        # A step of nothing, so that the optimizer has the moments that are going to be filled.
        for parameter in self.model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        self.optimizer.step()
        self.optimizer.zero_grad()
        state = self.state()
        dcp.load(state, checkpoint_id=newest)
        set_state_dict(
            self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
        )
        return int(newest.name.removeprefix("step-"))

    def step(self, number):
        draw = torch.Generator().manual_seed(number)
        length = self.arguments.length
        starts = torch.randint(len(self.text) - length - 1, (self.arguments.batch, 1), generator=draw)
        batch = self.text[starts + torch.arange(length + 1)]
        logits = self.model(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def save(self, step, wait):
        self.written(wait=True)
        if self.folder(step).exists():
            return
        partial = self.folder(step).with_suffix(".partial")
        began = time.monotonic()
        if wait:
            dcp.save(self.state(), checkpoint_id=partial)
            future = None
        else:
            future = dcp.async_save(self.state(), checkpoint_id=partial)
        self.pending = (step, partial, began, time.monotonic() - began, future)
        self.written(wait)

    def written(self, wait):
        """Gives a checkpoint its name once it is complete, and says so."""
        if self.pending is None:
            return
        step, partial, began, blocked_s, future = self.pending
        if future is not None:
            if not wait and not future.done():
                return
            future.result()
        self.pending = None
        size = size_of(partial)
        os.replace(partial, self.folder(step))
        seconds = time.monotonic() - began
        mode = "sync" if future is None else "async"
        say(f"checkpoint step={step} seconds={seconds:.3f} bytes={size} mode={mode} blocked_s={blocked_s:.3f}")
        for old in self.whole()[: -self.arguments.keep]:
            shutil.rmtree(old)

    def close(self):
        dist.destroy_process_group()


if __name__ == "__main__":
    arguments = options(__doc__).parse_args()
    store = dist.TCPStore("127.0.0.1", 0, 1, is_master=True)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    run(arguments, Trainer(arguments))
