"""The receiver of IRN as arithmetic on sequence numbers: what came, and what each packet is answered.

Rule 1: every packet is answered, with the next PSN that is expected behind it and its own PSN. Rule 2: the expected
packet, and one in front of it, are answered positively; one behind a gap negatively, and it is kept. Rule 3: what fills
a gap takes with it everything that was kept right behind.

Source: the authors' hardware model (NetSys/irn-vivado-hls), checked against its trace; docs/irn.md. Only distances
matter, so that PSNs may wrap.
"""

from __future__ import annotations

__all__ = ["Arrivals"]


class Arrivals:
    """What came from the expected packet on, as a bitmap of distances from it."""

    def __init__(self) -> None:
        self._here = 0

    @property
    def bitmap(self) -> int:
        """Bit 0: the expected packet."""
        return self._here

    @bitmap.setter
    def bitmap(self, bitmap: int) -> None:
        self._here = bitmap

    @property
    def has_gap(self) -> bool:
        """Something came behind the expected packet."""
        return self._here >> 1 != 0

    def has(self, distance: int) -> bool:
        """Whether the packet at that distance from the expected one, not negative, is here."""
        return self._here >> distance & 1 == 1

    def take(self, distance: int) -> None:
        """A packet comes; if by that the expected one is here, `advance` as often as it is."""
        self._here |= 1 << distance

    @property
    def has_expected(self) -> bool:
        return self._here & 1 == 1

    def advance(self) -> None:
        """The expected packet is delivered; the one behind it is expected."""
        self._here >>= 1

    def forget_expected(self) -> None:
        """As if it had not come: it cannot be delivered now."""
        self._here &= ~1
