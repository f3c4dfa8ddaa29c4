"""The largest configurations whose states are all visited: `python -m benchmarks.state_sizes` writes the table of
docs/states.md again, row by row. `--only PART` takes the rows whose words contain PART, `--dry` prints them only.

Each row is one process on one processor, `./tb states --json`. CPU time is that of the process, memory its peak.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "states.md"
BEGIN, END = "<!-- sizes: made by benchmarks/state_sizes.py -->\n```\n", "```\n<!-- end of sizes -->"
MINUTES = 30
_HEAD = ("protocol", "workers", "slots", "blocks", "faults", "states", "steps", "depth", "CPU s", "MB")
_WIDTHS = (22, 8, 6, 7, 7, 12, 12, 6, 6, 7)
_IRN = ("--set", "transport.recovery=irn")
_TIERS = ("--set", "topology={kind: spine_leaf, leaves: 2, spines: 1, hosts_per_leaf: [2, 1]}")


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    protocol: str
    workers: int
    slots: int
    blocks: int
    faults: int
    options: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return self.name, *map(str, (self.workers, self.slots, self.blocks, self.faults))


ROWS = (
    Row("SwitchML", "switchml", 2, 2, 3, 5),
    Row("SwitchML", "switchml", 3, 2, 3, 3),
    Row("SwitchML, two tiers", "switchml", 3, 2, 3, 2, _TIERS),
    Row("NetReduce, go-back-N", "netreduce", 2, 2, 3, 3),
    Row("NetReduce, go-back-N", "netreduce", 3, 2, 3, 2),
    Row("NetReduce, IRN", "netreduce", 2, 2, 3, 2, _IRN),
    Row("ATP", "atp", 2, 2, 3, 2),
    Row("ESA (srpt)", "esa", 2, 2, 3, 1),
)


def line(words: tuple[str, ...]) -> str:
    first, *others = words
    cells = [first.ljust(_WIDTHS[0]), *(word.rjust(width) for word, width in zip(others, _WIDTHS[1:], strict=False))]
    return "".join(cells).rstrip() + "\n"


def measure(row: Row, minutes: int) -> dict[str, Any]:
    """The document of one search, with its CPU seconds."""
    sizes = [row.workers, row.slots, row.blocks, row.faults]
    options = [each for name, size in zip(("workers", "slots", "blocks", "faults"), sizes, strict=True)
               for each in (f"--{name}", str(size))]  # fmt: skip
    command = [
        sys.executable, "-P", "-m", "testbed", "states", row.protocol, *options, *row.options,
        "--minutes", str(minutes), "--states", "1000000000", "--json",
    ]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    document: dict[str, Any] = json.loads(done.stdout)
    document["cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return document


def measured(row: Row, document: dict[str, Any]) -> str:
    """The line of a search that ended. Raises SystemExit for one that did not, or that found a violation."""
    if document["verdict"] != "pass":
        raise SystemExit(f"{' '.join(row.words)}: {document['verdict']} after {document['states']:,} states, "
                         f"{document['cpu_s']:,.0f} s and {document['memory_bytes'] / 1e6:,.0f} MB")  # fmt: skip
    numbers = document["states"], document["transitions"], document["depth"], round(document["cpu_s"])
    return line((*row.words, *(f"{number:,}" for number in numbers), f"{document['memory_bytes'] / 1e6:,.0f}"))


def table_of(page: str) -> list[str]:
    """Lines of the page's table, without its head."""
    return page.split(BEGIN)[1].split(END)[0].splitlines(keepends=True)[1:]


def with_line(page: str, new: str, key: tuple[str, ...]) -> str:
    """The page with one line of the table replaced or added, in the order of `ROWS`."""
    lines = {_key(each): each for each in table_of(page)} | {key: new}
    order = {row.words: number for number, row in enumerate(ROWS)}
    kept = [lines[each] for each in sorted((each for each in lines if each in order), key=order.__getitem__)]
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}{line(_HEAD)}{''.join(kept)}{END}{rest.split(END)[1]}"


def _key(text: str) -> tuple[str, ...]:
    return text[: _WIDTHS[0]].strip(), *text[_WIDTHS[0] :].split()[:4]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows whose words contain this")
    parser.add_argument("--minutes", type=int, default=MINUTES, help="limit of a search")
    parser.add_argument("--dry", action="store_true", help="print, and change no page")
    args = parser.parse_args()
    for row in ROWS:
        if args.only not in " ".join(row.words):
            continue
        text = measured(row, measure(row, args.minutes))
        sys.stdout.write(text)
        sys.stdout.flush()
        if not args.dry:
            PAGE.write_text(with_line(PAGE.read_text(encoding="utf-8"), text, row.words), encoding="utf-8")


if __name__ == "__main__":
    main()
