"""Every collective over the network: right for all dtypes, sizes, reductions and groups, and nothing in the store."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the backend of torch.distributed is not tested")
import torch.distributed as dist  # noqa: E402

from tests.workloads.torch_backend.members import SIZE, options  # noqa: E402
from workloads.ranks.client import NetworkFailed  # noqa: E402
from workloads.torch_backend.exchange import StoreExchange  # noqa: E402

GROUPS = [tuple(range(SIZE)), (0, 1, 3), (2, 1)]
SIZES = [0, 1, 999]
DTYPES = [torch.bool, torch.uint8, torch.bfloat16, torch.float32, torch.float64, torch.complex64]


@pytest.fixture(autouse=True)
def no_store(monkeypatch):
    def fail(*_):
        raise AssertionError("a value went through the store")

    monkeypatch.setattr(StoreExchange, "put", fail)
    monkeypatch.setattr(StoreExchange, "get", fail)


def values(rank, size, dtype=torch.float32):
    draw = torch.Generator().manual_seed(rank)
    return (100 * torch.randn(size, generator=draw)).to(dtype)


def done(found):
    """What the ranks returned. Raises what one of them raised."""
    for value in found.values():
        if isinstance(value, Exception):
            raise value
    return found


def same(one, other):
    assert one.dtype == other.dtype
    assert bytes(one.contiguous().view(torch.uint8).numpy()) == bytes(other.contiguous().view(torch.uint8).numpy())


def in_turn(rows, first):
    """A fold of the rows from one on, round the ring."""
    total = rows[first % len(rows)].clone()
    for step in range(1, len(rows)):
        total = total + rows[(first + step) % len(rows)]
    return total


def in_tree(rows, root):
    level = [*rows[root:], *rows[:root]]
    while len(level) > 1:
        level = [level[i] + level[i + 1] if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return level[0]


def round_the_ring(rows):
    """An all-reduce: chunk c from rank c on."""
    chunks = [torch.tensor_split(row, len(rows)) for row in rows]
    return torch.cat([in_turn([row[c] for row in chunks], c) for c in range(len(rows))])


@pytest.mark.parametrize("ranks", GROUPS, ids=str)
def test_what_moves_arrives_bit_for_bit(wired, ranks):
    groups, size = wired.group(ranks), len(ranks)

    def run(rank):
        group, place = groups[rank], ranks.index(rank)
        for length in SIZES:
            for dtype in DTYPES:
                own = [values(other, length, dtype) for other in range(size)]
                found = own[place].clone()
                group.broadcast([found], options(dist.BroadcastOptions, rootRank=size - 1)).wait()
                same(found, own[-1])
                parts = [torch.empty_like(own[0]) for _ in ranks]
                group.allgather([parts], [own[place]]).wait()
                for part, right in zip(parts, own, strict=True):
                    same(part, right)
                outputs = [[torch.empty_like(own[0]) for _ in ranks]] if place == 1 else []
                group.gather(outputs, [own[place]], options(dist.GatherOptions, rootRank=1)).wait()
                for part, right in zip(outputs[0] if outputs else [], own, strict=False):
                    same(part, right)
                found = torch.empty_like(own[0])
                group.scatter([found], [own] if place == 0 else [], options(dist.ScatterOptions, rootRank=0)).wait()
                same(found, own[place])
        group.barrier().wait()

    done(wired.each(run, ranks))


@pytest.mark.parametrize("ranks", GROUPS, ids=str)
def test_all_to_all_of_any_lengths(wired, ranks):
    groups, size = wired.group(ranks), len(ranks)

    def run(rank):
        group, place = groups[rank], ranks.index(rank)
        lengths = [[(3 * one + other) % 5 * 17 for other in range(size)] for one in range(size)]
        inputs = [values(10 * place + other, lengths[place][other], torch.float64) for other in range(size)]
        outputs = [torch.empty(lengths[other][place], dtype=torch.float64) for other in range(size)]
        group.alltoall(outputs, inputs).wait()
        for other, found in enumerate(outputs):
            same(found, values(10 * other + place, lengths[other][place], torch.float64))
        found = torch.empty(2 * size, dtype=torch.int16)
        group.all_to_all_single(found, torch.arange(2 * size, dtype=torch.int16) + 100 * place, [], []).wait()
        same(found, torch.cat([torch.arange(2 * place, 2 * place + 2) + 100 * o for o in range(size)]).to(torch.int16))

    done(wired.each(run, ranks))


@pytest.mark.parametrize("ranks", GROUPS, ids=str)
@pytest.mark.parametrize("op", ["SUM", "AVG", "PREMUL"])
def test_sums_are_folded_as_the_schedule_adds(wired, ranks, op):
    groups, size = wired.group(ranks), len(ranks)
    wanted = dist._make_nccl_premul_sum(0.1) if op == "PREMUL" else getattr(dist.ReduceOp, op)

    def right(rows, fold):
        total = fold([row * 0.1 for row in rows] if op == "PREMUL" else rows)
        return total / size if op == "AVG" else total

    def run(rank):
        group, place = groups[rank], ranks.index(rank)
        for length in (0, 1, 999):
            rows = [values(other, size * length) for other in range(size)]
            found = torch.empty(length)
            group.reduce_scatter_single(found, rows[place], options(dist.ReduceScatterOptions, reduceOp=wanted)).wait()
            own = slice(place * length, (place + 1) * length)
            same(found, right([row[own] for row in rows], lambda parts: in_turn(parts, place + 1)))
            found = rows[place].clone()
            group.reduce([found], options(dist.ReduceOptions, reduceOp=wanted, rootRank=1)).wait()
            same(found, right(rows, lambda parts: in_tree(parts, 1)) if place == 1 else rows[place])
            if size < SIZE:
                found = rows[place].clone()
                group.allreduce([found], options(dist.AllreduceOptions, reduceOp=wanted)).wait()
                same(found, right(rows, round_the_ring))

    done(wired.each(run, ranks))


def test_reductions_that_no_network_does_are_folded_in_rank_order(wired):
    groups = wired.group((0, 1, 3))

    def run(rank):
        group, place = groups[rank], (0, 1, 3).index(rank)
        rows = [values(other, 6, torch.float64) for other in range(3)]
        found = rows[place].clone()
        group.allreduce([found], options(dist.AllreduceOptions, reduceOp=dist.ReduceOp.SUM)).wait()
        same(found, rows[0] + rows[1] + rows[2])
        found = rows[place].clone()
        group.reduce([found], options(dist.ReduceOptions, reduceOp=dist.ReduceOp.MAX, rootRank=2)).wait()
        same(found, torch.stack(rows).amax(0) if place == 2 else rows[place])
        found = torch.empty(2, dtype=torch.bfloat16)
        halves = [row.to(torch.bfloat16) for row in rows]
        group.reduce_scatter_single(found, halves[place], options(dist.ReduceScatterOptions)).wait()
        own = slice(2 * place, 2 * place + 2)
        same(found, halves[0][own] + halves[1][own] + halves[2][own])

    done(wired.each(run, (0, 1, 3)))


def test_sends_and_recvs_meet_by_peer_and_tag_and_any_source_is_told(wired):
    groups = wired.group()

    def run(rank):
        group = groups[rank]
        if rank == 0:
            works = [group.send([torch.full((5,), tag, dtype=torch.int64)], 1, tag) for tag in (7, 8)]
            for work in works:
                work.wait()
        if rank == 1:
            late, soon = torch.zeros(5, dtype=torch.int64), torch.zeros(5, dtype=torch.int64)
            for tag, target in ((8, late), (7, soon)):
                group.recv([target], 0, tag).wait()
            assert (late[0], soon[0]) == (8, 7)
        if rank == 2:
            found = torch.zeros(3)
            work = group.recv_anysource([found], 9)
            work.wait()
            assert (work._source_rank(), found.tolist()) == (3, [1.5] * 3)
        if rank == 3:
            group.send([torch.full((3,), 1.5)], 2, 9).wait()

    done(wired.each(run))


def test_collectives_of_a_group_complete_in_the_order_in_which_they_were_posted(wired):
    groups, order = wired.group(), []

    def run(rank):
        group, works = groups[rank], []
        for number in range(6):
            tensor = torch.full((400,), float(number if rank == 2 else 0))
            if number % 2:
                work = group.allreduce([tensor])
            else:
                work = group.broadcast([tensor], options(dist.BroadcastOptions, rootRank=2))
            if rank == 1:
                work.get_future().add_done_callback(lambda _, number=number: order.append(number))
            works.append((work, tensor, number))
        for work, tensor, number in works:
            work.wait()
            assert tensor.tolist() == [number] * 400

    done(wired.each(run))


def test_two_groups_at_once(wired):
    halves = {**wired.group((0, 1), name="low"), **wired.group((2, 3), name="high")}

    def run(rank):
        for number in range(5):
            tensor = torch.full((300,), float(rank))
            halves[rank].allreduce([tensor]).wait()
            assert tensor.tolist() == [1.0 if rank < 2 else 5.0] * 300, number

    done(wired.each(run))


def test_what_is_longer_than_the_memory_goes_in_parts(tmp_path):
    from tests.workloads.torch_backend.members import Members

    members = Members(tmp_path, scenario="ring", carries_all=True, memory=4096)
    try:
        groups = members.group()

        def run(rank):
            group = groups[rank]
            rows = [values(other, 4 * 700) for other in range(SIZE)]
            found = torch.empty(SIZE * 2800)
            group.all_gather_single(found, rows[rank]).wait()
            same(found, torch.cat(rows))
            found = torch.empty(700)
            group.reduce_scatter_single(found, rows[rank]).wait()
            own = slice(700 * rank, 700 * rank + 700)
            same(found, in_turn([row[own] for row in rows], rank + 1))
            found = rows[rank].clone()
            group.reduce([found], options(dist.ReduceOptions, rootRank=0)).wait()
            same(found, in_tree(rows, 0) if rank == 0 else rows[rank])
            found = rows[rank].clone()
            group.broadcast([found], options(dist.BroadcastOptions, rootRank=3)).wait()
            same(found, rows[3])

        done(members.each(run))
    finally:
        members.close()


def test_ranks_that_differ_hear_it_before_anything_moves(wired):
    groups = wired.group()

    def run(rank):
        tensor = torch.zeros(3 if rank == 1 else 2)
        return groups[rank].broadcast([tensor], options(dist.BroadcastOptions, rootRank=0)).wait()

    found = wired.each(run)
    assert all(isinstance(error, NetworkFailed) for error in found.values())
    assert "collective 0 differs" in str(found[0])
