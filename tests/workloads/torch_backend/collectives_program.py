"""Every collective of the backend, checked by two ranks; `fail:WHAT` makes one that ends in an error, and prints it."""

import os
import signal
import sys
import threading
from datetime import timedelta

import torch
import torch.distributed as dist

RANK = SIZE = 0


def equal(found, expected):
    torch.testing.assert_close(found, torch.as_tensor(expected), rtol=0, atol=0)


def check_sums():
    value = torch.full((3, 4), RANK + 1.0)
    dist.all_reduce(value)
    equal(value, torch.full((3, 4), 3.0))
    value = torch.full((5,), RANK + 1.0)
    dist.all_reduce(value, op=dist.ReduceOp.AVG)
    equal(value, torch.full((5,), 1.5))
    turned = torch.arange(6.0).reshape(2, 3).T  # not contiguous
    dist.all_reduce(turned)
    equal(turned, torch.arange(6.0).reshape(2, 3).T * 2)
    parameter = torch.nn.Parameter(torch.ones(4))
    dist.all_reduce(parameter.data)
    equal(parameter.data, torch.full((4,), 2.0))
    works = [dist.all_reduce(torch.full((1000 * (index + 1),), 1.0), async_op=True) for index in range(5)]
    for index, work in enumerate(works):
        work.wait()
        assert work.is_completed()
        equal(work.result()[0], torch.full((1000 * (index + 1),), 2.0))
    future = dist.all_reduce(torch.ones(2), async_op=True).get_future().then(lambda done: done.value()[0] * 10)
    equal(future.wait(), torch.full((2,), 20.0))


def check_store():
    for op, expected in (("MAX", 1), ("MIN", 0), ("SUM", 1), ("PRODUCT", 0), ("BOR", 1), ("BXOR", 1), ("BAND", 0)):
        value = torch.tensor([RANK, RANK])
        dist.all_reduce(value, op=getattr(dist.ReduceOp, op))
        equal(value, [expected] * 2)
    value = torch.tensor([RANK + 1.0], dtype=torch.float64)
    dist.all_reduce(value, op=dist.ReduceOp.AVG)
    equal(value, torch.tensor([1.5], dtype=torch.float64))
    dist.all_reduce(torch.empty(0))
    value = torch.tensor([RANK + 5])
    dist.broadcast(value, src=1)
    equal(value, [6])
    parts = [torch.empty(2) for _ in range(SIZE)]
    dist.all_gather(parts, torch.full((2,), float(RANK)))
    equal(torch.stack(parts), [[0.0, 0.0], [1.0, 1.0]])
    whole = torch.empty(4)
    dist.all_gather_into_tensor(whole, torch.full((2,), float(RANK)))
    equal(whole, [0.0, 0.0, 1.0, 1.0])
    value = torch.tensor([RANK + 1.0])
    dist.reduce(value, dst=0)
    equal(value, [3.0] if RANK == 0 else [2.0])
    found = [torch.empty(1) for _ in range(SIZE)] if RANK == 1 else None
    dist.gather(torch.tensor([RANK + 0.5]), found, dst=1)
    if found is not None:
        equal(torch.cat(found), [0.5, 1.5])
    value = torch.empty(1)
    dist.scatter(value, [torch.tensor([7.0]), torch.tensor([8.0])] if RANK == 0 else None, src=0)
    equal(value, [7.0 + RANK])
    value = torch.empty(1)
    dist.reduce_scatter(value, [torch.tensor([1.0]), torch.tensor([RANK + 1.0])])
    equal(value, [2.0] if RANK == 0 else [3.0])
    value = torch.empty(2)
    dist.reduce_scatter_tensor(value, torch.arange(4.0))
    equal(value, torch.arange(4.0)[2 * RANK : 2 * RANK + 2] * 2)
    found = torch.empty(2)
    dist.all_to_all_single(found, torch.tensor([10.0 * RANK, 10.0 * RANK + 1]))
    equal(found, [RANK + 0.0, RANK + 10.0])
    dist.barrier()
    if RANK == 0:
        dist.send(torch.tensor([3.0]), dst=1)
    else:
        value = torch.empty(1)
        dist.recv(value, src=0)
        equal(value, [3.0])
    objects = [None] * SIZE
    dist.all_gather_object(objects, {"rank": RANK})
    assert objects == [{"rank": 0}, {"rank": 1}]


def check_groups():
    alone = [dist.new_group([rank]) for rank in range(SIZE)][RANK]
    value = torch.tensor([RANK + 1.0])
    dist.all_reduce(value, group=alone)
    equal(value, [RANK + 1.0])
    both = dist.new_group([0, 1])
    value = torch.tensor([RANK + 1.0])
    dist.all_reduce(value, group=both)
    equal(value, [3.0])


def check_overlap():
    """Rank 1 posts the last layer's gradients when rank 0, which has posted them, computes those of the first layer: an
    all-reduce that held rank 0 up would never end. There the backward pass waits for the sum: it comes while that pass
    goes on."""
    model = torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.Linear(100, 100))
    parallel = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.01)
    steps, early, summed = 4, [], threading.Event()

    def begin_first_layer(_):
        if RANK == 0:
            dist.send(torch.ones(1), dst=1)
        early.append(summed.wait(20))

    def reduce(_, bucket):
        def arrived(future):
            summed.set()
            return future.value()[0]

        if RANK == 1 and bucket.index() == 0 and step > 1:
            dist.recv(torch.empty(1), src=0)
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(arrived)

    parallel.register_comm_hook(None, reduce)
    for step in range(steps):
        summed.clear()
        # Buckets get their final shape after the first step.
        if step == 2:
            model[0].weight.register_hook(begin_first_layer)
        parallel(torch.ones(2, 100)).sum().backward()
    assert early == [True] * (steps - 2), early


def fail(what):
    match what:
        case "shape":
            dist.all_reduce(torch.ones(10 + RANK))
        case "dtype":
            dist.all_reduce(torch.ones(10, dtype=torch.float32 if RANK else torch.float64))
        case "sparse":
            dist.all_reduce(torch.eye(3).to_sparse())


def survive(victim):
    """What the others hear of a rank that is killed while they wait for it in a collective over the store, some of
    them still in the one before."""
    try:
        dist.barrier()
        if victim == RANK:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.barrier()
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)


def train_in_parallel():
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(100, 100))
    try:
        for _ in range(100):
            model(torch.ones(1, 100)).sum().backward()
    except Exception as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0]}", flush=True)


def main():
    global RANK, SIZE
    dist.init_process_group("ina", timeout=timedelta(seconds=60))
    RANK, SIZE = dist.get_rank(), dist.get_world_size()
    assert dist.get_backend() == "ina"
    for word in sys.argv[1:]:
        name, _, what = word.partition(":")
        if name == "fail":
            try:
                fail(what)
            except Exception as error:
                print(f"{type(error).__name__}: {error}", flush=True)
        elif name == "ddp":
            train_in_parallel()
        elif name == "killed":
            survive(int(what))
        else:
            {"sums": check_sums, "store": check_store, "groups": check_groups, "overlap": check_overlap}[name]()
            print(f"{name} right", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
