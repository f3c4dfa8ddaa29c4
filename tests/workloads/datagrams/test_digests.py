"""Equal results are hashed once, whoever asks, and no result gets the digest of another one."""

from __future__ import annotations

import hashlib

import pytest

from workloads.datagrams.digests import ResultDigests


def plainly(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("size", [0, 1, 4096])
def test_all_workers_get_the_digest_of_their_own_result(size: int) -> None:
    digests = ResultDigests()
    for iteration in range(3):
        for worker in (11, 12, 13):
            content = bytearray(bytes([iteration]) * size)
            assert digests.of(worker, memoryview(content)) == plainly(bytes(content))
            content[:1] = b"x"[:size]  # the worker uses its memory again
            assert digests.of(worker, memoryview(content)) == plainly(bytes(content))


def test_equal_results_of_several_workers_are_hashed_once() -> None:
    digests, content = ResultDigests(), memoryview(bytes(range(200)))
    for worker in range(1, 9):
        digests.of(worker, content)
    assert digests.hashed == 2  # the first worker could have been alone
    digests.of(1, content[:-1])
    assert digests.hashed == 3


def test_a_worker_that_is_alone_keeps_no_copy() -> None:
    digests, content = ResultDigests(), memoryview(bytes(200))
    for _ in range(3):
        digests.of(1, content)
    assert (digests.hashed, digests.kept_bytes) == (3, 0)
    digests.of(2, content)
    assert digests.kept_bytes == 200
