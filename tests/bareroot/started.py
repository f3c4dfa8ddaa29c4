"""Whether tests started each program that `./tb` installs: python -m tests.bareroot.started LOG"""

from __future__ import annotations

import sys
from pathlib import Path

from testbed.doctor.programs import PROGRAMS, Origin, package_of

__all__ = ["problems"]

# Not seen by Python, or not needed by a test.
_ELSEWHERE = {
    "brctl": "a benchmark starts it",
    "cc": "gcc is there",
    "g++": "simulations of the card in hardware start it; Amaranth comes with the first command that needs it",
    "kill": "runs on a host of a lab",
    "pgrep": "runs on a host of a lab",
    "pkill": "runs on a host of a lab",
    "python3": "it runs the tests",
    "ssh": "only people start it",
    "verilator": "as g++",
    "sshd": "the emulated lab starts it, with an environment of its own; the tests of a lab need it",
}


def problems(started: set[str]) -> list[str]:
    wanted = {program.name for program in PROGRAMS if program.origin is Origin.SET_UP} - set(_ELSEWHERE)
    return [
        *(f"{name}: ./tb installs it, and no test of marker `programs` starts it" for name in sorted(wanted - started)),
        *(f"{name}: started, and not declared" for name in sorted(started) if package_of(name) is None),
    ]


if __name__ == "__main__":
    told = set(Path(sys.argv[1]).read_text(encoding="utf-8").split())
    print(f"programs that tests started: {' '.join(sorted(told))}")
    found = problems(told)
    print("\n".join(found))
    sys.exit(1 if found else 0)
