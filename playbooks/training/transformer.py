"""DistributedDataParallel as in a tutorial: a small transformer learns to write sums, character by character.

Its text is made here: lines such as `17+05=22`. `--backend gloo` trains the same without us.
"""

from __future__ import annotations

import argparse
import hashlib
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

ALPHABET = "0123456789+="
LINE = len("17+05=022")


class Writer(nn.Module):
    """Each character follows from those before it."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(len(ALPHABET), width)
        self.places = nn.Parameter(torch.zeros(LINE, width))
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, len(ALPHABET))

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        size = text.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(size)
        return self.head(self.blocks(self.characters(text) + self.places[:size], mask=mask, is_causal=True))


def lines(draw: random.Random, count: int) -> torch.Tensor:
    """Shape (count, LINE): indices into ALPHABET."""
    pairs = [(draw.randrange(100), draw.randrange(100)) for _ in range(count)]
    texts = [f"{left:02}+{right:02}={left + right:03}" for left, right in pairs]
    return torch.tensor([[ALPHABET.index(letter) for letter in text] for text in texts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="ina", help="ina or gloo")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=32, help="lines per rank and step")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    options = parser.parse_args()

    dist.init_process_group(options.backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = Writer(options.width, options.layers)
    parallel = DistributedDataParallel(
        model, bucket_cap_mb=0.1
    )  # several buckets, so that they overlap with the backward pass
    optimizer = torch.optim.AdamW(parallel.parameters(), lr=3e-3)
    mine, held_out = random.Random(1000 + rank), lines(random.Random(0), 200)
    for step in range(1, options.steps + 1):
        text = lines(mine, options.batch)
        guesses = parallel(text[:, :-1])
        loss = nn.functional.cross_entropy(guesses.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 20 == 0:
            with torch.no_grad():
                answers = model(held_out[:, :-1]).argmax(2)[:, -3:]
            right = (answers == held_out[:, -3:]).float().mean()
            print(f"step {step:4}  loss {loss.item():.4f}  digits of sums right: {right:.1%}", flush=True)

    weights = b"".join(bytes(memoryview(parameter.detach().numpy())) for parameter in model.parameters())
    print(f"weights of rank {rank} of {size}: sha256 {hashlib.sha256(weights).hexdigest()[:16]}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
