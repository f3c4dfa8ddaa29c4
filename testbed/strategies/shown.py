"""Strategies with their costs, as people and programs read them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from testbed.strategies.measure import Measured, MeasuredFabric
from testbed.terminal.numbers import bits_per_second, byte_size, seconds
from testbed.terminal.tables import table_lines
from testbed.terminal.words import amount
from workloads.strategies import Chain, StrategyPoint
from workloads.strategies.chain import show_strategy
from workloads.strategies.costs import Devices

__all__ = ["SCHEMA", "StrategyRow", "StrategyRows", "to_csv", "to_json"]

SCHEMA = 2


@dataclass(frozen=True, slots=True)
class StrategyRow:
    point: StrategyPoint
    is_best: bool
    """whether it is on the frontier"""
    measured: Measured | None = None

    @property
    def ratio(self) -> float | None:
        """Measured over predicted."""
        took = None if self.measured is None else self.measured.time_s
        return None if took is None else took / self.point.price.time_s

    def values(self) -> dict[str, Any]:
        price, found = self.point.price, self.measured
        return {
            "strategy": ",".join(self.point.strategy),
            "on_frontier": self.is_best,
            "memory_bytes": price.memory_bytes,
            "sent_bytes": price.sent_bytes,
            "predicted_s": price.time_s,
            "measured_s": None if found is None else found.time_s,
            "ratio": self.ratio,
            "verdict": None if found is None else found.verdict,
        }


@dataclass(frozen=True, slots=True)
class StrategyRows:
    chain: Chain
    devices: Devices
    rows: tuple[StrategyRow, ...]
    """rows by memory"""
    fabric: MeasuredFabric | None = None
    """None: nothing was measured"""

    @property
    def exit_code(self) -> int:
        """A check that failed (1) outweighs an unknown one (2)."""
        codes = {row.measured.exit_code for row in self.rows if row.measured is not None}
        return 1 if 1 in codes else max(codes, default=0)

    def lines(self, width: int) -> Iterator[str]:
        """For people."""
        chain, devices = self.chain, self.devices
        yield (
            f"{chain.name or 'chain'}: {amount(len(chain.operators), 'operator')}, {byte_size(chain.weights_bytes)} of "
            f"weights, {seconds(chain.compute_ns / 1e9)} of computing on one device"
        )
        yield (
            f"{devices.count} devices of {bits_per_second(devices.bytes_per_s * 8)} of payload each; an all-reduce "
            f"sends {devices.factor:g} of a vector"
        )
        if self.fabric is not None:
            yield (
                f"measured over {self.fabric.target} in virtual time, all-reduce by {self.fabric.protocol}, vectors "
                f"divided by {self.fabric.divide:,}"
            )
        yield ""
        head = ["strategy", "memory", "sent", "predicted"]
        if self.fabric is not None:
            head += ["measured", "ratio", "verdict"]
        cells = [self._cells(row) for row in self.rows]
        yield from table_lines(head, cells, width, text=(0,))
        if not all(row.is_best for row in self.rows):
            yield ""
            yield "* not on the frontier: another strategy needs no more memory and no more time"
        for row in self.rows:
            if row.measured is not None and row.measured.detail:
                yield ""
                yield f"{show_strategy(row.point.strategy)}: {row.measured.detail}"

    def _cells(self, row: StrategyRow) -> list[str]:
        price, found = row.point.price, row.measured
        words = show_strategy(row.point.strategy).replace(",", ", ")
        cells = [
            words if row.is_best else f"{words} *", byte_size(round(price.memory_bytes)),
            byte_size(round(price.sent_bytes)), seconds(price.time_s),
        ]  # fmt: skip
        if self.fabric is not None:
            took = None if found is None else found.time_s
            ratio = row.ratio
            cells += [
                "-" if took is None else seconds(took),
                "-" if ratio is None else f"{ratio:.3f}",
                "-" if found is None else found.verdict,
            ]
        return cells


def to_json(rows: StrategyRows) -> str:
    fabric = rows.fabric
    document = {
        "schema": SCHEMA,
        "chain": rows.chain.name,
        "operators": [
            {
                "name": operator.name,
                "weights_bytes": operator.weights_bytes,
                "activations_bytes": operator.activations_bytes,
                "compute_s": operator.compute_ns / 1e9,
            }
            for operator in rows.chain.operators
        ],
        "devices": rows.devices.count,
        "bandwidth_bytes_per_s": rows.devices.bytes_per_s,
        "all_reduce_factor": rows.devices.factor,
        "fabric": None
        if fabric is None
        else {
            "scenario": fabric.target,
            "set": list(fabric.overrides),
            "protocol": fabric.protocol,
            "divide": fabric.divide,
        },
        "points": [row.values() for row in rows.rows],
    }
    return json.dumps(document, indent=1) + "\n"


def to_csv(rows: StrategyRows) -> str:
    """A line for each strategy; what was not measured is empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows.rows[0].values()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.values() for row in rows.rows)
    return out.getvalue()
