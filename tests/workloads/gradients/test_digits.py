import hashlib
import os
import subprocess
import sys

import numpy as np

from workloads.config import WorkloadConfig
from workloads.gradients import create_source, digits_elements

TRAIN = """
import hashlib, sys
from tests.workloads.gradients.test_digits import train
print(hashlib.sha256(train(3, 6)[0].weights.tobytes()).hexdigest(), "sklearn" in sys.modules)
"""


def train(size: int, iterations: int, seed: int = 1):
    sources = [create_source(WorkloadConfig("digits", seed, 0, iterations), rank, size) for rank in range(size)]
    progress = []
    for iteration in range(iterations):
        total = sources[0].gradient(iteration).copy()
        for source in sources[1:]:
            total += source.gradient(iteration)
        progress = [source.apply(iteration, total) for source in sources]
    return (*sources, progress)


def test_four_workers_learn():
    *sources, progress = train(4, 80)
    assert progress[0].accuracy > 0.9
    assert progress[0].iteration == 79
    assert len(set(progress)) == 1
    assert len({source.weights.tobytes() for source in sources}) == 1


def test_the_gradient_is_the_slope_of_the_loss():
    source = create_source(WorkloadConfig("digits", 1, 0, 1), 0, 2)
    gradient = source.gradient(0).astype(np.float64)
    images, classes = source._share
    from workloads.gradients.digits import _BATCHES, _draw

    chosen = _draw(1, _BATCHES, 0, 0).permutation(len(classes))[: source._batch]

    def loss(weights):
        values, at, shapes = images[chosen].astype(np.float64), 0, ((64, 192), (192, 96), (96, 10))
        for n, (inputs, outputs) in enumerate(shapes):
            matrix = weights[at : at + inputs * outputs].reshape(inputs, outputs)
            at += inputs * outputs
            values = values @ matrix + weights[at : at + outputs]
            at += outputs
            if n < 2:
                values = np.maximum(values, 0)
        values = values - values.max(axis=1, keepdims=True)
        return -(values[np.arange(len(chosen)), classes[chosen]] - np.log(np.exp(values).sum(axis=1))).mean()

    weights = source.weights.astype(np.float64)
    draw = np.random.default_rng(0)
    for index in draw.choice(np.flatnonzero(np.abs(gradient) > 1e-3), 20):
        step = np.zeros_like(weights)
        step[index] = 1e-5
        slope = (loss(weights + step) - loss(weights - step)) / 2e-5
        assert abs(slope - gradient[index]) < 1e-4 + 1e-3 * abs(slope)


def test_ranks_see_different_images_and_asking_twice_changes_nothing():
    a, b = (create_source(WorkloadConfig("digits", 1, 0, 2), rank, 2) for rank in range(2))
    first = a.gradient(0).copy()
    assert not np.array_equal(first, b.gradient(0))
    assert a.gradient(0).tobytes() == first.tobytes()
    assert a.elements == digits_elements() == len(first)


def test_the_step_uses_the_mean_over_the_ranks():
    alone, one_of_two = (create_source(WorkloadConfig("digits", 1, 0, 2), 0, size) for size in (1, 2))
    total = alone.gradient(0).copy()
    alone.apply(0, total)
    one_of_two.apply(0, total * np.float32(2))
    assert alone.weights.tobytes() == one_of_two.weights.tobytes()


def test_reset_starts_over():
    source = create_source(WorkloadConfig("digits", 1, 0, 2), 0, 1)
    first = source.gradient(0).copy()
    source.apply(0, first)
    source.gradient(1)
    source.apply(1, first)
    source.reset()
    assert source.gradient(0).tobytes() == first.tobytes()
    assert not source._velocity.any()


def test_bits_are_the_same_in_other_processes_whatever_the_threads():
    here = hashlib.sha256(train(3, 6)[0].weights.tobytes()).hexdigest()
    for threads in "1", "2":
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": threads, "PYTHONPATH": "."}
        done = subprocess.run(
            [sys.executable, "-c", TRAIN], env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout.split() == [here, "False"]
