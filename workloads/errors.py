"""Errors that say who is to blame; each maps to one exit code.

They are in the lowest layer of the code because every layer raises them. What a peer sends is no error: Machines report
it as an event, and checkers judge it (exit code 1).
"""

from __future__ import annotations

from workloads.visible import visible

__all__ = ["HostCapabilityError", "InternalError", "LabError", "ScenarioError", "TestbedError"]


class TestbedError(Exception):
    """Base of all errors that we raise on purpose; never raised itself."""

    __test__ = False
    exit_code = 70

    def __init__(self, *args: object) -> None:
        if type(self) is TestbedError:
            raise TypeError("raise one of the subclasses of TestbedError: they say who is to blame")
        super().__init__(*args)


class ScenarioError(TestbedError):
    """The user's file or flags: where (file, line, key), what was found, what is allowed."""

    exit_code = 64

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        key: str | None = None,
        line: int | None = None,
        found: str | None = None,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.problem, self.file, self.key, self.line = problem, file, key, line
        self.found, self.allowed, self.hint = found, allowed, hint
        super().__init__(problem)

    def __str__(self) -> str:
        place = self.file or "scenario"
        if self.line is not None:
            place += f":{self.line}"
        if self.key:
            place += f": {self.key}"
        text = f"{place}: {self.problem}"
        if self.found is not None:
            text += f"; found {self.found}"
        if self.allowed is not None:
            text += f"; allowed: {self.allowed}"
        if self.hint is not None:
            text += f"; {self.hint}"
        return visible(text).replace("\n", "\\n")


class HostCapabilityError(TestbedError):
    """This machine lacks something: what, and what would supply it."""

    exit_code = 3

    def __init__(self, missing: str, remedy: str) -> None:
        self.missing, self.remedy = missing, remedy
        super().__init__(f"this machine lacks {missing}; {remedy}")


class LabError(TestbedError):
    """The lab: which host, which command, the end of its output."""

    exit_code = 75

    def __init__(self, host: str, problem: str, output: str = "") -> None:
        self.host, self.problem, self.output = host, problem, output
        super().__init__(f"{host}: {problem}" + (f"\n{output}" if output else ""))


class InternalError(TestbedError):
    """We are to blame."""

    exit_code = 70
