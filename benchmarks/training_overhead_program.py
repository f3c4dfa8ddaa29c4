"""All-reduces of one size, one behind the other; each rank prints how long each took, in seconds."""

import argparse
import json
import time

import torch
import torch.distributed as dist


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, required=True)
    parser.add_argument("--times", type=int, required=True)
    options = parser.parse_args()
    dist.init_process_group("ina")
    gradient, took = torch.zeros(options.bytes // 4), []
    dist.all_reduce(gradient)  # the first one brings the network up
    for _ in range(options.times):
        gradient.uniform_(-1, 1)
        dist.barrier()
        began = time.perf_counter()
        dist.all_reduce(gradient)
        took.append(time.perf_counter() - began)
    print("seconds", json.dumps(took), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
