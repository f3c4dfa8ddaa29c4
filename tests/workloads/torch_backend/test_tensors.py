"""Tensors of every kind: summed and moved outside of autograd, or refused at the call."""

import time
from datetime import timedelta

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the backend of torch.distributed is not tested")
import torch.distributed as dist  # noqa: E402

from tests.workloads.torch_backend.members import SIZE, Members, options  # noqa: E402


def overlapping(kind):
    match kind:
        case "expanded":
            return torch.ones(1).expand(10)
        case "a row again and again":
            return torch.ones(4).expand(3, 4)
        case "windows":
            return torch.arange(8.0).as_strided((4, 3), (1, 1))
        case "sparse":
            return torch.eye(3).to_sparse()
        case "sparse rows":
            return torch.eye(3).to_sparse_csr()
        case "meta":
            return torch.ones(3, device="meta")
        case "nested":
            return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    raise AssertionError(kind)


@pytest.mark.parametrize(
    "kind", ["expanded", "a row again and again", "windows", "sparse", "sparse rows", "meta", "nested"]
)
@pytest.mark.parametrize(
    "call",
    [
        lambda g, t: g.allreduce([t]),
        lambda g, t: g.broadcast([t], options(dist.BroadcastOptions, rootRank=1)),
        lambda g, t: g.reduce([t], options(dist.ReduceOptions, rootRank=0)),
        lambda g, t: g.allgather([[t] * SIZE], [t]),
        lambda g, t: g.gather([[t] * SIZE], [t], options(dist.GatherOptions, rootRank=0)),
        lambda g, t: g.scatter([t], [[t] * SIZE], options(dist.ScatterOptions, rootRank=0)),
        lambda g, t: g.reduce_scatter([t], [[t] * SIZE]),
        lambda g, t: g.alltoall([t] * SIZE, [t] * SIZE),
        lambda g, t: g.recv([t], 1),
    ],
    ids=[
        "all_reduce",
        "broadcast",
        "reduce",
        "all_gather",
        "gather",
        "scatter",
        "reduce_scatter",
        "all_to_all",
        "recv",
    ],
)
def test_a_tensor_that_cannot_hold_the_result_is_refused_at_the_call(one, call, kind):
    with pytest.raises(ValueError, match=r"elements share memory|dense tensors in the processor's memory"):
        call(one, overlapping(kind))


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """Rank 0 of a group in which nothing is ever posted."""
    made = Members(tmp_path_factory.mktemp("refusals"))
    yield made.group()[0]
    made.close()


def views(rank):
    base = torch.arange(24.0).reshape(4, 6) + rank
    return {
        "transposed": base.T, "every other": base[:, ::2], "negative part": torch.view_as_complex(
            torch.stack([base, base], -1)).conj().imag, "slice": base[1:3], "scalar": base[0, 0], "empty": base[:0],
        "half": base.half(), "bfloat16": base.bfloat16(), "complex": base.to(torch.complex64),
        "conjugate": base.to(torch.complex64).conj(), "leaf": base.requires_grad_(), "bool": base > 3,
        "uint8": base.to(torch.uint8), "int64": base.long(), "inside": base.detach()[2, 1:4],
    }  # fmt: skip


@pytest.mark.parametrize("kind", list(views(0)))
def test_tensors_of_every_kind_are_summed_and_moved_outside_of_autograd(members, kind):
    groups = members.group()
    inputs = [views(rank)[kind] for rank in range(SIZE)]
    right_sum = inputs[0].detach().clone()
    for value in inputs[1:]:
        right_sum = right_sum + value.detach()

    def use(rank):
        group, tensor = groups[rank], views(rank)[kind]
        targets = [torch.empty_like(views(0)[kind], requires_grad=False) for _ in range(SIZE)]
        group.allgather([targets], [tensor]).wait()
        group.allreduce([tensor]).wait()
        copy = views(rank)[kind]
        group.broadcast([copy], options(dist.BroadcastOptions, rootRank=2)).wait()
        return tensor, targets, copy

    for tensor, targets, copy in members.each(use).values():
        torch.testing.assert_close(tensor.detach(), right_sum, rtol=0, atol=0)
        torch.testing.assert_close(copy.detach(), inputs[2].detach(), rtol=0, atol=0)
        for target, value in zip(targets, inputs, strict=True):
            torch.testing.assert_close(target, value.detach(), rtol=0, atol=0)
            assert not target.requires_grad


@pytest.mark.parametrize(
    ("dtype", "values", "right"),
    [
        (torch.int64, [-1, -2, -3, 0], -1),
        (torch.int32, [1, 2, 3, 1], 1),
        (torch.uint8, [200, 100, 0, 0], 11),  # 300 wraps to 44
        (torch.float64, [1, 2, 3, 1], 1.75),
        (torch.float16, [1, 2, 3, 1], 1.75),
        (torch.complex64, [1j, 1, 0, 0], 0.25 + 0.25j),
    ],
)
def test_the_mean_of_integers_is_cut_towards_zero(members, dtype, values, right):
    groups = members.group()
    wanted = options(dist.AllreduceOptions, reduceOp=dist.ReduceOp.AVG)
    tensors = [torch.tensor([value], dtype=dtype) for value in values]
    members.each(lambda rank: groups[rank].allreduce([tensors[rank]], wanted).wait())
    assert [tensor.item() for tensor in tensors] == [right] * SIZE


@pytest.mark.parametrize(
    ("op", "dtype", "told"),
    [
        (dist.ReduceOp.AVG, torch.bool, "cannot do all_reduce .avg. of bool: truth values have no mean"),
        (dist.ReduceOp.MAX, torch.complex64, "cannot do all_reduce .max. of complex64"),
        (dist.ReduceOp.BAND, torch.float32, "cannot do all_reduce .band. of float32"),
    ],
)
def test_a_reduction_that_a_dtype_does_not_have_is_refused_at_the_call(one, op, dtype, told):
    with pytest.raises(ValueError, match=told):
        one.allreduce([torch.ones(2, dtype=dtype)], options(dist.AllreduceOptions, reduceOp=op))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda g: g.all_gather_single(torch.ones(3), torch.ones(1)), "cannot divide 3 elements among 4 ranks"),
        (lambda g: g.all_gather_single(torch.ones(8), torch.ones(1)), "cannot put 1 elements of float32 into a"),
        (lambda g: g.all_gather_single(torch.ones(4), torch.ones(1).long()), "cannot put 1 elements of int64 into"),
        (lambda g: g.allgather([[torch.ones(1)]], [torch.ones(1)]), "wants one tensor for each of 4 ranks"),
        (lambda g: g.reduce_scatter_single(torch.ones(2), torch.ones(4)), "cannot put 1 elements"),
        (lambda g: g.all_to_all_single(torch.ones(4), torch.ones(4), [1, 1, 1], []), "cannot cut 4 rows into"),
        (lambda g: g.all_to_all_single(torch.ones(4), torch.ones(5), [], []), "cannot divide a tensor of shape"),
        (lambda g: g.all_to_all_single(torch.ones(4), torch.ones(4), [2, 0, 1, 1], []), "cannot put 1 elements"),
        (lambda g: g.allreduce([torch.ones(1), torch.ones(1)]), "one tensor at a time"),
        (lambda g: g.allreduce_coalesced([]), "was given no tensor"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit_are_refused_at_the_call(one, call, told):
    with pytest.raises(ValueError, match=told):
        call(one)


@pytest.mark.parametrize("rank", [-1, SIZE, 99])
@pytest.mark.parametrize(
    "call",
    [
        lambda g, t, rank: g.broadcast([t], options(dist.BroadcastOptions, rootRank=rank)),
        lambda g, t, rank: g.reduce([t], options(dist.ReduceOptions, rootRank=rank)),
        lambda g, t, rank: g.gather([[t] * SIZE], [t], options(dist.GatherOptions, rootRank=rank)),
        lambda g, t, rank: g.scatter([t], [[t] * SIZE], options(dist.ScatterOptions, rootRank=rank)),
        lambda g, t, rank: g.send([t], rank),
        lambda g, t, rank: g.recv([t], rank),
    ],
    ids=["broadcast", "reduce", "gather", "scatter", "send", "recv"],
)
def test_a_rank_that_the_group_does_not_have_is_refused_at_the_call(one, call, rank):
    with pytest.raises(ValueError, match=f"was given rank {rank} of the process group; allowed: 0 to 3"):
        call(one, torch.ones(2), rank)


@pytest.mark.parametrize("limit", [0, -5])
def test_a_group_without_time_is_refused(one, limit):
    with pytest.raises(ValueError, match=f"a timeout of {limit} s; allowed: above 0"):
        one.set_timeout(timedelta(seconds=limit))


@pytest.mark.parametrize("name", ["announce", "post_sum"])
def test_a_call_that_fails_leaves_nothing_to_wait_for(members, monkeypatch, name):
    def fail(*_, **__):
        raise MemoryError("no room")

    groups = members.group()
    with monkeypatch.context() as patched:
        patched.setattr(members.ranks[2].client, name, fail)
        with pytest.raises(MemoryError, match="no room"):
            groups[2].allreduce([torch.ones(2, dtype=torch.float32 if name == "post_sum" else torch.float64)])
    began = time.monotonic()
    assert members.each(lambda rank: groups[rank].shutdown()) == dict.fromkeys(range(SIZE))
    assert time.monotonic() - began < 5
