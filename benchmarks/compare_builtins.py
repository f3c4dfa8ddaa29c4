"""Do two versions of the project run the built-in scenarios alike? Each runs them in virtual time, with some seeds.
Kept are the verdict, the digests of all sums, the packets that faults struck, and a hash of each column of the history.

    python -P benchmarks/compare_builtins.py run TREE OUT.json [SCENARIO ...]
    python -P benchmarks/compare_builtins.py tell BEFORE.json AFTER.json

A column is a field of one kind of record, as `SwitchStatistics.counters.runt`: so a difference has a name. Fields that
hold nothing (null, 0, false, empty) do not count, and a field that one version alone has differs only where it holds
something. `run` imports nothing of this checkout: it drives the command line of TREE, one process for each case, and
leaves out the further seeds of a scenario that took longer than `--seconds` of CPU time. `tell` prints a table in
Markdown, and exits 1 when a verdict, a sum or a struck packet differs."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["columns_of", "difference", "main", "outcome_of"]

_SEEDS = (1, 2, 3)
_SECONDS = 60
_MAIN_KEYS = ("verdict", "sums", "struck")
_SUM = ("CollectiveCompleted", ("node", "job", "iteration", "sha256"))
_STRIKE = ("FaultStruck", ("node", "fault", "target", "direction", "flow", "opcode", "psn", "occurrence"))
"""records, and the fields that say what was summed, and whom a fault struck"""


def columns_of(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Hash of each column of a history, and of the order of its records (`(order)`)."""
    found: dict[str, Any] = defaultdict(hashlib.sha256)
    seen: Counter[str] = Counter()
    for record in records:
        event = record["event"]
        seen[event] += 1
        found["(order)"].update(f"{record['t']} {record['node']} {event}\n".encode())
        for name, value in _flat(record):
            if name not in ("t", "node", "event"):
                found[f"{event}.{name}"].update(f"{seen[event]} {json.dumps(value, sort_keys=True)}\n".encode())
    return {name: item.hexdigest()[:16] for name, item in sorted(found.items())}


def _flat(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif value:
            yield before + name, value


def outcome_of(folder: Path) -> dict[str, Any]:
    """Of a run directory: verdict, sums, struck packets, records by kind, columns."""
    records = [json.loads(line) for line in (folder / "history.jsonl").read_text(encoding="utf-8").splitlines()]
    kinds = Counter(record["event"] for record in records)
    return {
        "verdict": json.loads((folder / "result.json").read_text(encoding="utf-8"))["verdict"],
        "sums": _hash(records, *_SUM),
        "struck": _hash(records, *_STRIKE),
        "records": dict(sorted(kinds.items())),
        "columns": columns_of(records),
    }


def _hash(records: Iterable[Mapping[str, Any]], event: str, fields: Sequence[str]) -> str:
    """In no order: times do not count."""
    lines = sorted(json.dumps([record.get(name) for name in fields]) for record in records if record["event"] == event)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What differs between two outcomes, in words; empty: nothing."""
    found = [f"{key}: {before[key]} -> {after[key]}" for key in _MAIN_KEYS if before.get(key) != after.get(key)]
    if "records" not in before or "records" not in after:
        return found
    for kind in sorted({*before["records"], *after["records"]}):
        counts = before["records"].get(kind, 0), after["records"].get(kind, 0)
        if counts[0] != counts[1]:
            found.append(f"{kind}: {counts[0]} -> {counts[1]} records")
    columns = before["columns"], after["columns"]
    for name in sorted({*columns[0], *columns[1]}):
        old, new = (each.get(name) for each in columns)
        if old != new:
            found.append(name if old and new else f"{name} (new)" if new else f"{name} (gone)")
    return found


def _cases(scenarios: Iterable[str], seeds: Iterable[int]) -> Iterator[tuple[str, int]]:
    """All scenarios with the first seed, then all with the second."""
    names = list(scenarios)
    return ((name, seed) for seed in seeds for name in names)


def _in_tree(out: Path, wanted: list[str], seconds: int) -> None:
    """Inside a process that imports the tree's packages: run all cases, write after each what is known."""
    known = list(import_module("testbed.scenario").builtin_names())
    tb = import_module("testbed.cli.main")
    for module in ("testbed.cli.running", "testbed.checkers", "testbed.worlds.simulated"):
        import_module(module)
    outcomes: dict[str, Any] = {}
    too_long: set[str] = set()
    for name, seed in _cases(wanted or known, _SEEDS):
        if name in too_long:
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "run"
            words = ["run", name, "--world", "simulated", "--seed", str(seed), "--out", str(folder), "-q"]
            ended = _forked(tb, words, seconds)
            if ended == -signal.SIGXCPU:
                too_long.add(name)
                outcome: dict[str, Any] = {"verdict": f"over {seconds} s"}
            elif not (folder / "result.json").exists():
                outcome = {"verdict": f"exit {ended}"}
            else:
                outcome = outcome_of(folder)
        outcomes[f"{name} {seed}"] = outcome
        out.write_text(json.dumps(outcomes, indent=1), encoding="utf-8")


def _forked(tb: Any, words: list[str], seconds: int) -> int:
    """Exit code of the command, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            code = tb.main(words)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _tell(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Prints the table: one row for each difference, with the cases that have it."""
    both = [case for case in before if case in after]
    rows: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for case in both:
        found = difference(before[case], after[case])
        if found:
            rows[tuple(found)].append(case)
    same = len(both) - sum(map(len, rows.values()))
    print(f"{len(both)} cases, {same} of them alike in all columns; {len(before) - len(both)} only before, "
          f"{len(after) - len(both)} only after")  # fmt: skip
    for word, count in sorted(Counter(after[case]["verdict"] for case in both).items()):
        print(f"- verdict {word}: {count}")
    print("\n| cases | what differs |\n|---|---|")
    for found, cases in sorted(rows.items(), key=lambda row: -len(row[1])):
        print(f"| {', '.join(cases)} | {'; '.join(found)} |")
    return int(any(before[case].get(key) != after[case].get(key) for case in both for key in _MAIN_KEYS))


def main() -> int:
    parser = argparse.ArgumentParser(prog="compare_builtins")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("tree", type=Path)
    run.add_argument("out", type=Path)
    run.add_argument("scenarios", nargs="*")
    run.add_argument("--seconds", type=int, default=_SECONDS)
    run.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    tell = commands.add_parser("tell")
    tell.add_argument("before", type=Path)
    tell.add_argument("after", type=Path)
    args = parser.parse_args()
    if args.command == "tell":
        before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (args.before, args.after))
        return _tell(before, after)
    if args.inside:
        _in_tree(args.out, args.scenarios, args.seconds)
        return 0
    words = [
        "run",
        str(args.tree),
        str(args.out.resolve()),
        *args.scenarios,
        "--inside",
        "--seconds",
        str(args.seconds),
    ]
    return subprocess.run(
        [sys.executable, "-P", str(Path(__file__).resolve()), *words],
        cwd=args.tree,
        env={**os.environ, "PYTHONPATH": str(args.tree.resolve()), "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
