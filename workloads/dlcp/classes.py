"""The class of a packet: how much it hurts when it is lost. Senders write it into the DSCP field of IPv4.

A layer class (2 bits, 0 for the front of the model) and a magnitude class (1 bit, 1 for packets of small elements,
which a queue may drop early). That these two matter is what the abstracts of DLCP and MLT say; codes, order and
thresholds are decided here (docs/dlcp.md).
"""

from __future__ import annotations

import math

import numpy as np

from workloads.dlcp.config import DlcpConfig
from workloads.gradients import Vector
from workloads.wire.dscp import LAYER_CLASSES, dscp_of

__all__ = ["IMPORTANT_TOS", "classes_of", "layer_class", "small_packets", "tos_of"]

_DSCP_SHIFT = 2


def layer_class(element: int, elements: int) -> int:
    """Class of a packet that begins with that element of a gradient: 0 in its first quarter, which holds the front
    layers, to 3."""
    return LAYER_CLASSES * element // elements


def small_packets(values: Vector, elements: int, important: float) -> list[bool]:
    """Which packets of `elements` are of the low class. A share `important` of the packets, rounded up, is not: those
    with the largest sums of absolute values; of equal ones the earlier. `values`: shape (n,). A value that is no number
    counts as large."""
    packets = -(-len(values) // elements)
    padded = np.zeros(packets * elements, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        padded[: len(values)] = np.abs(values.astype(np.float64))
        sums = np.nan_to_num(padded.reshape(packets, elements).sum(axis=1), nan=np.inf, posinf=np.inf)
    small = np.ones(packets, np.bool_)
    small[np.argsort(-sums, kind="stable")[: math.ceil(important * packets)]] = False
    found: list[bool] = small.tolist()
    return found


def tos_of(layer: int, *, small: bool) -> int:
    """The byte of the IPv4 header, not ECN-capable: DSCP 8 .. 15."""
    return dscp_of(layer, low=small) << _DSCP_SHIFT


IMPORTANT_TOS = tos_of(0, small=False)
"""also of acknowledgements: they are short, and senders wait for them"""


def classes_of(config: DlcpConfig, values: Vector, first: int = 0) -> bytes:
    """The traffic class of each packet of a vector. `first`: which element of the gradient is the first of it."""
    small = small_packets(values, config.elements, config.important)
    layers = [layer_class(first + packet * config.elements, config.workload.elements) for packet in range(len(small))]
    return bytes([_TOS[layer][low] for layer, low in zip(layers, small, strict=True)])


_TOS = [(tos_of(layer, small=False), tos_of(layer, small=True)) for layer in range(LAYER_CLASSES)]
