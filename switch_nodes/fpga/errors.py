"""What a card, or the way to it, does wrong."""

from __future__ import annotations

from workloads.errors import LabError

__all__ = ["CardError", "RegisterValueError"]


class CardError(LabError):
    """Which card, which register, what was found there and what is allowed."""

    def __init__(
        self,
        card: str,
        problem: str,
        *,
        register: str | None = None,
        found: str | None = None,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.register, self.found, self.allowed = register, found, allowed
        text = problem if register is None else f"register {register}: {problem}"
        if found is not None:
            text += f"; found {found}"
        if allowed is not None:
            text += f"; allowed: {allowed}"
        if hint is not None:
            text += f"; {hint}"
        super().__init__(f"card {card}", text)


class RegisterValueError(ValueError):
    """A configuration register holds what it cannot: at which address, what, and what is allowed."""

    def __init__(self, address: int, found: int, allowed: str) -> None:
        self.address, self.found, self.allowed = address, found, allowed
        super().__init__(f"{address:#07x}: found {found:#x}; allowed: {allowed}")
