"""DistributedDataParallel as in a tutorial: a small multi-layer perceptron learns handwritten digits.

The one line that is not the tutorial's is the name of the backend. `--backend gloo` trains the same without us.
"""

from __future__ import annotations

import argparse
import hashlib

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="ina", help="ina or gloo")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=32, help="images per rank and step")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--every", type=int, default=20, help="steps from one line to the next")
    parser.add_argument("--all-ranks", action="store_true", help="each tells how good its model is, not rank 0 alone")
    options = parser.parse_args()

    dist.init_process_group(options.backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, options.hidden), nn.ReLU(), nn.Linear(options.hidden, 10))
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)

    pixels, classes = load_digits(return_X_y=True)
    images, labels = torch.tensor(pixels, dtype=torch.float32) / 16, torch.tensor(classes)
    held_out = slice(0, 297)
    mine = torch.Generator().manual_seed(1000 + rank)
    for step in range(1, options.steps + 1):
        chosen = torch.randint(297, len(images), (options.batch,), generator=mine)
        loss = nn.functional.cross_entropy(parallel(images[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (rank == 0 or options.all_ranks) and step % options.every == 0:
            with torch.no_grad():
                right = (model(images[held_out]).argmax(1) == labels[held_out]).float().mean()
            print(f"step {step:4}  loss {loss.item():.4f}  held out {right:.1%} right", flush=True)

    weights = b"".join(bytes(memoryview(parameter.detach().numpy())) for parameter in model.parameters())
    print(f"weights of rank {rank} of {size}: sha256 {hashlib.sha256(weights).hexdigest()[:16]}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
