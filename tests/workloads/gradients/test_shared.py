"""A mailbox between two processes."""

import mmap
import os

import numpy as np
import pytest

from workloads.config import MeshTask
from workloads.errors import InternalError
from workloads.gradients.shared import ROOM_PIECES, SharedPieces


def shared(elements):
    return np.frombuffer(mmap.mmap(-1, 4 * elements), np.float32)


def test_a_forked_worker_takes_what_is_posted_and_leaves_sums_elsewhere():
    gradients, totals = shared(10), shared(10)
    mailbox = SharedPieces(gradients, totals)
    gradients[:] = range(10)
    child = os.fork()
    if not child:
        while not mailbox.closed:
            if mailbox.delivered < mailbox.posted:
                mailbox.leave(mailbox.delivered, mailbox.take(mailbox.delivered) * 2)
        os._exit(0)
    mailbox.post(2, 3)
    mailbox.post(7, 1)
    while mailbox.delivered < 2:
        pass
    mailbox.close()
    assert os.waitpid(child, 0)[1] == 0
    assert totals.tolist() == [0, 0, 4, 6, 8, 0, 0, 14, 0, 0]
    assert gradients.tolist() == list(range(10))


def test_places_are_used_again_and_never_before_their_sum_is_there():
    mailbox = SharedPieces(shared(4), shared(4))
    for _ in range(ROOM_PIECES):
        mailbox.post(0, 1)
    assert not mailbox.has_room
    with pytest.raises(InternalError, match="more than 4096 pieces without a sum"):
        mailbox.post(0, 1)
    mailbox.leave(0, np.ones(1, np.float32))
    mailbox.post(3, 1)
    assert mailbox.has_room is False


def test_a_piece_may_have_a_task() -> None:
    mailbox = SharedPieces(shared(64), shared(64), ranks=4)
    swap = MeshTask("swap", (2, 0), 0, (3, 1), (0, 4))
    for task in (None, MeshTask("broadcast", (0, 1, 3), 2), swap, MeshTask("barrier", (1,))):
        mailbox.post(0, 4, task)
        assert mailbox.task(mailbox.posted - 1) == task
    assert mailbox.task(0) is None
