"""Who judges the pieces of a training, by the collective."""

from __future__ import annotations

import hashlib

import numpy as np

from testbed.history.training_events import PieceExpected
from testbed.train.expected import RunningReference, piece_judge
from testbed.train.planning import TrainingSource, training_plan


def test_a_reference_judges_where_the_protocol_names_no_other_judge() -> None:
    assert type(piece_judge(training_plan(TrainingSource("rack").sized(8192)))) is RunningReference


def test_the_reference_knows_each_sum_when_its_gradients_are_posted() -> None:
    """And waits for nobody's word."""
    judge = piece_judge(training_plan(TrainingSource("rack").sized(8192)))
    draw = np.random.default_rng(3)
    for iteration, size in enumerate((2048, 3)):
        rows = [draw.standard_normal(size).astype(np.float32) for _ in range(4)]
        total = rows[0] + rows[1] + rows[2] + rows[3]
        digest = hashlib.sha256(total.tobytes()).hexdigest()
        assert list(judge.posted(iteration, rows)) == [PieceExpected(iteration, (digest,) * 4)]
    assert list(judge.conclude()) == []
