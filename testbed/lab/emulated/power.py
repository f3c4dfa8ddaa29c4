"""`python -m testbed.lab.emulated.power FOLDER HOST`: power-cycle one host of an emulated lab."""

from __future__ import annotations

import sys
from pathlib import Path

from testbed.lab.emulated.command import ask_keeper
from workloads.errors import TestbedError


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print("usage: python -m testbed.lab.emulated.power FOLDER HOST", file=sys.stderr)
        return 64
    try:
        ask_keeper(Path(argv[0]), {"op": "cycle", "host": argv[1]})
    except TestbedError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
