"""Rank 3 is 8 s late, and the others wait for 1 s."""

import datetime
import time

import torch
import torch.distributed as dist

dist.init_process_group("ina")
if dist.get_rank() == 3:
    time.sleep(8)
start = time.monotonic()
work = dist.all_reduce(torch.ones(4), async_op=True)
try:
    print(
        "wait returned", work.wait(datetime.timedelta(seconds=1)), f"after {time.monotonic() - start:.1f} s", flush=True
    )
except Exception as error:
    print("raised", type(error).__name__, f"after {time.monotonic() - start:.1f} s", flush=True)
    work.wait()
dist.destroy_process_group()
