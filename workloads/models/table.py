"""A model from a CSV file: a line per layer, in forward order.

    layer,elements,forward_ms,backward_ms
    conv1,23296,1.5,3
    fc,4097000,0.8,1.6

`bytes` may stand for `elements` (four bytes each). The times may be left out, both of them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from workloads.errors import ScenarioError
from workloads.models.layers import ELEMENT_BYTES, Layer, Model

__all__ = ["MOST_LAYERS", "parse_model"]

MOST_LAYERS = 2048
"""most rows of one file, and most layers of all jobs of one scenario; as text they take half of the largest scenario
file (1 MiB)"""

_COLUMNS = "layer, elements or bytes, and if known forward_ms and backward_ms"
_SIZES, _TIMES = ("elements", "bytes"), ("forward_ms", "backward_ms")
_WHOLE, _DECIMAL = re.compile(r"[0-9]{1,12}\Z", re.ASCII), re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?\Z", re.ASCII)
_MOST_ELEMENTS = 1 << 32
_MOST_NAME_BYTES = 64
_NS_PER_MS = 1_000_000
_MOST_NS = 3_600_000 * _NS_PER_MS
"""an hour, as for the durations of a scenario"""


def parse_model(text: str, file: str, name: str = "") -> Model:
    """`file` is what messages show. Raises ScenarioError, with the line, for the first thing that is wrong."""
    rows = _rows(text, file)
    line, header = next(rows, (1, []))
    sizes = [column for column in header if column in _SIZES]
    times = [column for column in header if column in _TIMES]
    good = len(sizes) == 1 and len(times) in (0, 2) and sorted(header) == sorted(["layer", *sizes, *times])
    if not good:
        raise ScenarioError(
            "not the columns of a job", file=file, line=line, found=",".join(header) or "nothing", allowed=_COLUMNS
        )
    layers: dict[str, tuple[int, Layer]] = {}
    for line, row in rows:
        if len(row) != len(header):
            found, allowed = f"{len(row)} values", f"{len(header)}: {', '.join(header)}"
            raise ScenarioError("a row of another width", file=file, line=line, found=found, allowed=allowed)
        layer = _layer(dict(zip(header, row, strict=True)), file, line)
        if layer.name in layers:
            found = f"'{layer.name}' again, first in line {layers[layer.name][0]}"
            raise ScenarioError("two layers of one name", file=file, line=line, key="layer", found=found)
        if len(layers) == MOST_LAYERS:
            raise ScenarioError("too many layers", file=file, line=line, allowed=f"at most {MOST_LAYERS} rows")
        layers[layer.name] = line, layer
    if not layers:
        raise ScenarioError("no layers", file=file, line=line, allowed="a row for each layer under the columns")
    return Model(name, tuple(layer for _, layer in layers.values()))


def _rows(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of all that are not empty."""
    reader = csv.reader(text.splitlines(), strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise ScenarioError(f"not CSV: {error}", file=file, line=reader.line_num) from None


def _layer(cells: dict[str, str], file: str, line: int) -> Layer:
    def refuse(column: str, problem: str, allowed: str) -> ScenarioError:
        return ScenarioError(problem, file=file, line=line, key=column, found=repr(cells[column]), allowed=allowed)

    if not cells["layer"]:
        raise refuse("layer", "a layer without a name", "a name of its own")
    if len(cells["layer"].encode()) > _MOST_NAME_BYTES or not cells["layer"].isprintable():
        raise refuse("layer", "not a name of a layer", f"printable text of at most {_MOST_NAME_BYTES} bytes")
    column, unit = ("elements", 1) if "elements" in cells else ("bytes", ELEMENT_BYTES)
    size = int(cells[column]) if _WHOLE.match(cells[column]) else 0
    if not 0 < size <= _MOST_ELEMENTS * unit:
        raise refuse(column, "not a size", f"a whole number from 1 to {_MOST_ELEMENTS * unit}")
    if size % unit:
        raise refuse(column, "not a whole number of elements", f"a multiple of {unit}")
    durations = []
    for time in _TIMES:
        cell = cells.get(time, "0")
        if not _DECIMAL.match(cell):
            raise refuse(time, "not a time", "milliseconds, 0 or more, as 1.5")
        duration = round(float(cell) * _NS_PER_MS)
        if duration > _MOST_NS:
            raise refuse(time, "out of range", f"at most {_MOST_NS // _NS_PER_MS} milliseconds (60min)")
        durations.append(duration)
    return Layer(cells["layer"], (size // unit,), 0, *durations)
