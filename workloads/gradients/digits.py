"""Real data-parallel training: a small multi-layer perceptron learns the handwritten digits that scikit-learn ships.

Data: 1797 images of 8 x 8 pixels, values 0..16, class 0..9 (UCI "Optical Recognition of Handwritten Digits"). The file
is read from the installed package, which is not imported.

Bits. All arithmetic is float32 NumPy. Two processes on one machine get the same bits when they run the same NumPy with
the same BLAS. The number of threads does not matter: OpenBLAS splits a product over threads from 4 * 65536
multiplications on, and ours are smaller. Between machines with different vector units the bits may differ, as they
would for any BLAS: the reference is therefore computed where the workers run.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.config import WorkloadConfig
from workloads.errors import HostCapabilityError
from workloads.events import TrainingProgress
from workloads.gradients.base import Vector

__all__ = ["DigitsSource", "digits_batch", "digits_elements"]

Floats = NDArray[np.float32]

_LAYERS = (64, 192, 96, 10)
_HELD_OUT, _TRAINING = 297, 1500
_BATCH = 32
_RATE, _MOMENTUM = np.float32(0.08), np.float32(0.9)
_SERIAL_PRODUCTS = 4 * 65536  # OpenBLAS interface/gemm.c: SMP_THRESHOLD_MIN * GEMM_MULTITHREAD_THRESHOLD
_INITIAL, _SHUFFLE, _BATCHES = range(3)  # streams of one seed


def digits_elements() -> int:
    """Parameters of the model: the elements of its gradient."""
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(_LAYERS))


def digits_batch(ranks: int) -> int:
    """Images from which each rank computes one gradient."""
    return min(_BATCH, _TRAINING // ranks)


@lru_cache(maxsize=1)
def _load() -> tuple[Floats, NDArray[np.int64]]:
    """Images, shape (1797, 64), values 0..1, and classes, shape (1797,). Raises HostCapabilityError when they are
    absent."""
    found = importlib.util.find_spec("sklearn")
    places = found.submodule_search_locations if found else None
    path = Path(places[0], "datasets", "data", "digits.csv.gz") if places else None
    if path is None or not path.is_file():
        raise HostCapabilityError("scikit-learn's digits", "install scikit-learn, whose package holds them")
    with gzip.open(path, "rt", encoding="ascii") as file:
        table = np.array([[float(cell) for cell in row] for row in csv.reader(file)], np.float32)
    return table[:, :-1] / np.float32(16), table[:, -1].astype(np.int64)


def _draw(seed: int, *stream: int) -> np.random.Generator:
    key = np.random.SeedSequence([seed & (1 << 64) - 1, *stream]).generate_state(2, np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def _product(a: Floats, b: Floats) -> Floats:
    """a @ b, in column blocks too small for a threaded BLAS call."""
    rows, inner = a.shape
    width = max(1, _SERIAL_PRODUCTS // (rows * inner))
    if width >= b.shape[1]:
        return a @ b
    return np.concatenate([a @ b[:, at : at + width] for at in range(0, b.shape[1], width)], axis=1)


class DigitsSource:
    """SGD with momentum on softmax cross-entropy. Every rank holds the same weights and sees its own share of the
    training images; the step uses the total divided by the number of ranks."""

    def __init__(self, config: WorkloadConfig, rank: int, size: int) -> None:
        self.elements, self.iterations, self.dtype = digits_elements(), config.iterations, np.dtype("<f4")
        self._seed, self._rank, self._size = config.seed, rank, size
        images, classes = _load()
        order = _draw(config.seed, _SHUFFLE).permutation(len(images))
        held_out, training = order[:_HELD_OUT], order[_HELD_OUT:]
        self._test = images[held_out], classes[held_out]
        share = training[rank::size]
        self._share = images[share], classes[share]
        self._batch = digits_batch(size)
        self._gradient = np.empty(self.elements, np.float32)
        self.weights: Floats = np.empty(self.elements, np.float32)
        """shape (elements,): all layers, each its matrix (row-major) and then its bias"""
        self._velocity = np.empty(self.elements, np.float32)
        self.reset()

    def reset(self) -> None:
        draw = _draw(self._seed, _INITIAL)
        for matrix, bias in _views(self.weights):
            bound = np.float32(np.sqrt(6 / matrix.shape[0]))
            matrix[:] = (draw.random(matrix.shape, np.float32) * 2 - 1) * bound
            bias[:] = 0
        self._velocity[:] = 0

    def gradient(self, iteration: int) -> Vector:
        chosen = _draw(self._seed, _BATCHES, self._rank, iteration).permutation(len(self._share[1]))[: self._batch]
        inputs, classes = self._share[0][chosen], self._share[1][chosen]
        layers, outputs = _views(self.weights), _views(self._gradient)
        activations = _forward(layers, inputs)
        error = _softmax(activations[-1])
        error[np.arange(len(classes)), classes] -= 1
        error /= np.float32(len(classes))
        for index in reversed(range(len(layers))):
            matrix, bias = outputs[index]
            matrix[:] = _product(np.ascontiguousarray(activations[index].T), error)
            bias[:] = error.sum(axis=0)
            if index:
                error = _product(error, np.ascontiguousarray(layers[index][0].T)) * (activations[index] > 0)
        return self._gradient

    def apply(self, iteration: int, total: Vector) -> TrainingProgress | None:
        self._velocity *= _MOMENTUM
        self._velocity += total / np.float32(self._size)
        self.weights -= _RATE * self._velocity
        inputs, classes = self._test
        scores = np.concatenate(
            [_forward(_views(self.weights), inputs[at : at + _BATCH])[-1] for at in range(0, len(inputs), _BATCH)]
        )
        chance = _softmax(scores)[np.arange(len(classes)), classes]
        loss = float(-np.log(np.maximum(chance, np.float32(1e-30))).mean())
        accuracy = float((scores.argmax(axis=1) == classes).mean())
        return TrainingProgress(iteration, loss, accuracy)


def _views(flat: Floats) -> list[tuple[Floats, Floats]]:
    """(matrix of shape (inputs, outputs), bias of shape (outputs,)) of each layer inside `flat`."""
    views: list[tuple[Floats, Floats]] = []
    at = 0
    for inputs, outputs in pairwise(_LAYERS):
        end = at + inputs * outputs
        views.append((flat[at:end].reshape(inputs, outputs), flat[end : end + outputs]))
        at = end + outputs
    return views


def _forward(layers: list[tuple[Floats, Floats]], inputs: Floats) -> list[Floats]:
    """Inputs, then what each layer puts out: rectified, except the last."""
    values = [inputs]
    for index, (matrix, bias) in enumerate(layers):
        out: Any = _product(values[-1], matrix) + bias
        values.append(out if index == len(layers) - 1 else np.maximum(out, np.float32(0)))
    return values


def _softmax(scores: Floats) -> Floats:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]
