"""All-reduces over a simulated network, as a training makes them, with what is judged of them."""

import numpy as np

from testbed.checkers import CheckContext, run_checks
from testbed.history import sort_history
from testbed.train.planning import TrainingSource, judged_plan, training_plan
from testbed.train.simulated import SimulatedNetwork

__all__ = ["PIECE", "SIZES", "Trained"]

PIECE = 12_000
SIZES = (3000, 17, 7001, 1)
"""elements: a whole piece, a fraction of one, several, and fewer than there are ranks"""


class Trained:
    """Some all-reduces, one behind the other, and what is judged of them."""

    def __init__(self, name, overrides=(), sizes=SIZES, spoil=lambda record: record):
        self.source = TrainingSource(name, overrides)
        records = []
        plan = training_plan(self.source.sized(PIECE))
        self.network = SimulatedNetwork(plan, lambda record: records.append(spoil(record)))
        draw = np.random.default_rng(5)
        self.before = [[draw.standard_normal(size).astype(np.float32) for _ in plan.workers] for size in sizes]
        self.after = [[gradient.copy() for gradient in gradients] for gradients in self.before]
        self.arrived = []
        for number, gradients in enumerate(self.after):
            self.network.carry(number, gradients, gradients)
            self.arrived += self.network.work()
        self.network.close()
        self.plan = judged_plan(self.source, PIECE, self.network.iterations)
        self.history = sort_history(records)
        checked = run_checks(CheckContext(self.plan, self.history)).results
        self.verdicts = {result.name: result for result in checked if result.name != "training"}  # no ranks here
