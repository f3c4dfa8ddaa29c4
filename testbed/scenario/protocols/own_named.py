"""Is code that a scenario names named on the command line, and is it there?"""

from __future__ import annotations

from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.overrides import SET_FILE
from testbed.scenario.protocols.named import protocol_names
from testbed.scenario.protocols.own_code import is_in_file, is_own_code
from testbed.scenario.protocols.own_definition import require_definition
from testbed.scenario.protocols.own_protocol import PROTOCOL_KEY
from workloads.errors import ScenarioError

__all__ = ["check_protocol"]


def check_protocol(problems: Problems, protocol: str) -> bool:
    """Whether there is such a protocol, or its file has it. Adds a problem if not."""
    path: KeyPath = ("job", "protocol")
    if not is_own_code(protocol):
        return True
    if is_in_file(protocol) and problems.place(path).file != SET_FILE:
        problems.add(
            path,
            "a scenario file cannot name code to run",
            found=f"'{protocol}'",
            allowed=", ".join(protocol_names()),
            hint=f"give it on the command line: --set {PROTOCOL_KEY}={protocol}",
        )
        return False
    try:
        require_definition(protocol)
    except ScenarioError as error:
        if error.file == SET_FILE:
            problems.add(path, error.problem, found=error.found, allowed=error.allowed)
        else:
            problems.relay(path, error)
        return False
    return True
