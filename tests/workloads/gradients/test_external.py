"""Gradients that come from outside."""

import numpy as np
import pytest

from workloads.config import WorkloadConfig
from workloads.errors import ScenarioError
from workloads.gradients import AwaitedSource, create_source
from workloads.gradients.external import ENDLESS, ExternalSource, PostedPieces, attach_sources

CONFIG = WorkloadConfig("external", 1, 4, 1)


@pytest.fixture
def mailbox():
    return PostedPieces()


def test_a_source_is_found_by_rank(mailbox):
    source = ExternalSource(mailbox, 4)
    attach_sources({1: source})
    assert create_source(CONFIG, 1, 2) is source
    assert isinstance(source, AwaitedSource)
    with pytest.raises(ScenarioError, match="gradients come from a training process, and there is none"):
        create_source(CONFIG, 0, 2)


def test_a_short_piece_goes_as_it_is(mailbox):
    source, piece = ExternalSource(mailbox, 4), np.array([1, 2], np.float32)
    mailbox.post(piece, piece)
    assert source.gradient(0) is piece
    source.apply(0, np.array([5, 6], np.float32))
    assert piece.tolist() == [5, 6]


def test_where_all_have_one_size_a_short_piece_ends_in_zeros_and_its_sum_is_as_short(mailbox):
    source, piece = ExternalSource(mailbox, 4, fill_up=True), np.array([1, 2], np.float32)
    mailbox.post(*[np.full(4, 9, np.float32)] * 2)
    mailbox.post(piece, piece)
    source.apply(0, source.gradient(0))
    assert source.gradient(1).tolist() == [1, 2, 0, 0]
    source.apply(1, np.array([5, 6, 7, 8], np.float32))
    assert piece.tolist() == [5, 6]


def test_it_is_ready_only_for_what_was_posted_and_has_no_sum(mailbox):
    source = ExternalSource(mailbox, 4)
    assert not source.is_ready(0)
    mailbox.post(*[np.ones(4, np.float32)] * 2)
    assert source.is_ready(0)
    assert not source.is_ready(1)
    source.apply(0, source.gradient(0))
    assert not source.is_ready(0)


def test_there_is_no_end_before_it_is_closed(mailbox):
    source = ExternalSource(mailbox, 4)
    mailbox.post(*[np.ones(4, np.float32)] * 2)
    assert source.iterations == ENDLESS
    mailbox.closed = True
    assert source.iterations == 1
