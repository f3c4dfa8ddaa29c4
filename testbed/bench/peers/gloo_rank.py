"""`python gloo_rank.py FOLDER RANK RANKS`: a rank of torch.distributed over gloo. It reduces once for each folder
that it finds: `FOLDER/1`, `FOLDER/2`, ..., each with a file `size` (elements of float32), over connections of its own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

_STEP_S = 0.002
_PERIOD = 1021
"""elements repeat after that many; sums of these small whole numbers are exact in float32"""


def _await(path: Path) -> None:
    while not path.exists():
        time.sleep(_STEP_S)


def reduce_once(folder: Path, rank: int, ranks: int) -> None:
    import torch
    from torch import distributed

    elements = int((folder / "size").read_text(encoding="ascii"))
    pattern = torch.arange(elements, dtype=torch.int64).remainder_(_PERIOD).to(torch.float32)
    data = pattern + rank
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    try:
        distributed.barrier()
        (folder / f"ready.{rank}").write_text("\n", encoding="ascii")
        _await(folder / "go")
        start = time.monotonic_ns()
        distributed.all_reduce(data)
        end = time.monotonic_ns()
        right = bool(torch.equal(data, pattern * ranks + sum(range(ranks))))
        (folder / f"result.{rank}").write_text(f"{start} {end} {int(right)}\n", encoding="ascii")
        _await(folder / "end")
    finally:
        distributed.destroy_process_group()


def main(arguments: list[str]) -> None:
    import torch

    folder, rank, ranks = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    torch.set_num_threads(1)
    number = 1
    while True:
        _await(folder / str(number) / "size")
        reduce_once(folder / str(number), rank, ranks)
        number += 1


if __name__ == "__main__":
    main(sys.argv[1:])
