"""The C core under AddressSanitizer and UBSan: python -m tests.sanitized [--frames N]

First what is wrong on purpose must be found; then all tests of the C core, and mutated frames on every compiled path,
must find nothing. Any finding ends the stage with 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from tests.sanitized.environment import EXIT_CODE, NotSanitized, sanitized_environment
from tests.sanitized.fuzz import fuzz

__all__ = ["DIFFERENTIAL", "main"]

DIFFERENTIAL = (
    "tests/workloads/test_kernels.py",
    "tests/workloads/native/test_crc.py",
    "tests/workloads/native/test_layout.py",
    "tests/workloads/native/test_roce_header.py",
    "tests/workloads/wire/test_layouts.py",
    "tests/workloads/rc/test_fast.py",
    "tests/workloads/rc/test_fast_layout.py",
    "tests/workloads/rc/test_native_endpoint.py",
    "tests/workloads/rc/test_transport.py",
    "tests/workloads/rc/test_irn_fast.py",
    "tests/workloads/rc/test_irn_trace.py",
    "tests/workloads/rc/test_held_fast.py",
    "tests/switch_nodes/dataplane/test_packet_io.py",
    "tests/switch_nodes/dataplane/test_sockets.py",
    "tests/switch_nodes/forwarding/test_fast.py",
    "tests/switch_nodes/netreduce/test_answers.py",
    "tests/switch_nodes/netreduce/test_fast.py",
    "tests/switch_nodes/netreduce/test_fast_answers.py",
    "tests/switch_nodes/netreduce/test_fast_fabric.py",
    "tests/switch_nodes/netreduce/test_install.py",
    "tests/switch_nodes/steering/test_program.py",
    "tests/testbed/faults/test_decide.py",
    "tests/testbed/faults/test_late.py",
    "tests/testbed/faults/test_screen.py",
    "tests/testbed/worlds/simulated/native/test_agenda.py",
    "tests/testbed/worlds/simulated/native/test_held_loop.py",
    "tests/testbed/worlds/simulated/native/test_loop.py",
    "tests/testbed/worlds/simulated/native/test_nodes.py",
    "tests/testbed/worlds/simulated/native/test_parts.py",
    "tests/testbed/worlds/simulated/native/test_wire.py",
)
"""tests that hold the C core and the Python reference to the same bytes"""
_PLANTED = {"overrun": "heap-buffer-overflow", "overflow": "signed integer overflow", "slots": "use-after-poison"}
_LIMIT = "timeout=1500"
"""of one test, in s: a sanitizer slows it down several times"""
_PYTHON = (sys.executable, "-P", "-m")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sanitized", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--frames", type=int, default=200_000, help="mutated frames (default: %(default)s)")
    args = parser.parse_args(arguments)
    began = time.monotonic()
    try:
        code = _find_planted() or _run_tests() or fuzz(args.frames, seed=1)
    except NotSanitized as error:
        print(f"sanitized: {error}", file=sys.stderr)
        return 1
    print(f"== sanitized: {'failed' if code else 'passed'} after {time.monotonic() - began:.0f} s", flush=True)
    return code


def _find_planted() -> int:
    """What is wrong on purpose is found, in a process whose libraries are the sanitized ones (child.py looks)."""
    for what, told in _PLANTED.items():
        command = [*_PYTHON, "tests.sanitized.child", what]
        done = subprocess.run(command, env=sanitized_environment(), capture_output=True, text=True, check=False)
        if done.returncode != EXIT_CODE or told not in done.stderr:
            print(f"sanitized: the {what} that is wrong on purpose was not found\n{done.stderr}", file=sys.stderr)
            return 1
    return 0


def _run_tests() -> int:
    """A part on each processor, in one process each: the code of a sanitizer is that of the process."""
    command, parts = (
        [
            *_PYTHON,
            "pytest",
            "-q",
            "-x",
            "-n0",
            "-o",
            _LIMIT,
            "-p",
            "no:cacheprovider",
            "-p",
            "tests.sanitized.watched",
        ],
        2,
    )
    runs = [
        subprocess.Popen([*command, *DIFFERENTIAL[part::parts]], env=sanitized_environment()) for part in range(parts)
    ]
    codes = [run.wait() for run in runs]
    if EXIT_CODE in codes:
        print("sanitized: a sanitizer found something in the tests of the C core", file=sys.stderr)
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
