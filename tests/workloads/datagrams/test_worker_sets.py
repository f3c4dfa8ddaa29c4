import random

import pytest

from workloads.datagrams.worker_sets import MAX_RACKS, WIDTH, WorkerSets, ranks_in

RACKS = tuple(tuple(range(first, first + WIDTH)) for first in range(0, WIDTH * MAX_RACKS, WIDTH))
LARGE = WorkerSets(WIDTH * MAX_RACKS, RACKS)
MIXED = WorkerSets(40, (tuple(range(0, 40, 2)), tuple(range(1, 40, 2))))


def test_ranks_of_a_set_ascend() -> None:
    assert list(ranks_in(0)) == []
    assert list(ranks_in(1 << 1000 | 0b101)) == [0, 2, 1000]


@pytest.mark.parametrize("size", [1, WIDTH])
def test_bitmap0_names_all_workers_of_a_small_job(size: int) -> None:
    sets = WorkerSets(size, (tuple(range(size)),))
    everybody = (1 << size) - 1
    assert sets.named(everybody) == (everybody, 0, 0)
    assert sets.meant(everybody, 7, 9) == everybody


@pytest.mark.parametrize("sets", [LARGE, MIXED])
def test_what_a_tree_of_switches_sums_has_a_name(sets: WorkerSets) -> None:
    draw = random.Random(1)
    for _ in range(200):
        racks = list(sets.rack_masks)
        draw.shuffle(racks)
        whole = sum(racks[: draw.randrange(len(racks))])
        some = sum(1 << rank for rank in ranks_in(racks[-1]) if draw.random() < 0.5)
        for bitmap in (whole, some, whole | some, sets.everybody):
            names = sets.named(bitmap)
            assert names is not None
            bitmap0, bitmap1, node = names
            assert bitmap0 >> WIDTH == bitmap1 >> MAX_RACKS == node >> 16 == 0
            assert sets.meant(*names) == bitmap


def test_a_worker_alone_is_named_by_its_place_also_where_it_is_its_rack() -> None:
    sets = WorkerSets(33, (tuple(range(32)), (32,)))
    assert sets.meant(1, 0, 2) == 1 << 32 == sets.meant(0, 2, 0)
    assert sets.named(1 << 32) == (0, 2, 0)


def test_parts_of_two_racks_have_no_name() -> None:
    assert LARGE.named(1 << 0 | 1 << WIDTH) is None
    assert LARGE.named(LARGE.rack_masks[0] | 1 << WIDTH) is not None


@pytest.mark.parametrize(
    "names",
    [
        pytest.param((1, 0, 0), id="a worker of no rack"),
        pytest.param((1, 0, 3), id="a rack that is not there"),
        pytest.param((1 << 20, 0, 1), id="a place that is not there"),
        pytest.param((1, 0b100, 1), id="a whole rack that is not there"),
        pytest.param((0, 0b100, 0), id="whole racks that are not there"),
        pytest.param((1, 0b1, 1), id="part of a rack that is whole"),
    ],
)
def test_headers_that_name_no_set(names: tuple[int, int, int]) -> None:
    assert MIXED.meant(*names) == -1
