"""Is code that a scenario names named on the command line, and is it there?"""

from __future__ import annotations

from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.named import protocol_names
from testbed.scenario.overrides import SET_FILE
from testbed.scenario.own_code import is_in_file, is_own_code
from testbed.scenario.own_definition import require_definition
from testbed.scenario.own_protocol import COLLECTIVE_KEY
from workloads.errors import ScenarioError

__all__ = ["check_collective"]


def check_collective(problems: Problems, collective: str) -> bool:
    """Whether there is such a collective, or its file has that protocol. Adds a problem if not."""
    path: KeyPath = ("job", "collective")
    if not is_own_code(collective):
        return True
    if is_in_file(collective) and problems.place(path).file != SET_FILE:
        problems.add(
            path,
            "a scenario file cannot name code to run",
            found=f"'{collective}'",
            allowed=", ".join(protocol_names()),
            hint=f"give it on the command line: --set {COLLECTIVE_KEY}={collective}",
        )
        return False
    try:
        require_definition(collective)
    except ScenarioError as error:
        if error.file == SET_FILE:
            problems.add(path, error.problem, found=error.found, allowed=error.allowed)
        else:
            problems.relay(path, error)
        return False
    return True
