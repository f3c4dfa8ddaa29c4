"""What hosts of a DLCP job over a server must hold.

The server's sum is the fold, by rank, of the gradients, with +0 for packets that did not come. A worker's result is
that sum, with +0 for packets of the sum that did not come.

Where switches add on the way, a gradient may count with more packets than it needs. The sum is then the fold of the
parts that the server reported. Each part is the fold by rank of the gradients inside. A switch must have reported each
part of several ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from testbed.checkers.folds import Array, fold
from testbed.protocols.dlcp.bounded_told import JobJudge, without

__all__ = ["ServerJob", "left_out"]


def left_out(full: Sequence[Array], parts: Sequence[Array]) -> Array:
    """Per element, float64: the sum of the magnitudes that did not come."""
    missing = np.zeros(len(full[0]))
    with np.errstate(invalid="ignore"):
        for whole, part in zip(full, parts, strict=True):
            missing += np.abs(np.asarray(whole, np.float64) - part)
    return missing


class ServerJob(JobJudge):
    """The last host is the server."""

    @property
    def _in_parts(self) -> bool:
        return bool(self.hosts[-1].service_ip)

    def results(self, iteration: int, gradients: Sequence[Array]) -> Iterator[tuple[int, Array, Array] | str]:
        server, packets = len(self.hosts) - 1, self.packets
        up = [self.bitmap(server, iteration, rank, packets, more=self._in_parts) for rank in range(server)]
        self.count("up", packets, up)
        bitmaps = [*up, (1 << packets) - 1]
        yield from self._entered(iteration, bitmaps)
        broken = list(self._parts_of(iteration, bitmaps)) if self._in_parts else []
        yield from broken
        if broken:
            return
        came = [without(each, bitmap, self.size) for each, bitmap in zip(gradients, bitmaps, strict=True)]
        total = self._total(iteration, gradients, came)
        up_bound = left_out(gradients, came)
        yield server, total, up_bound
        for rank in range(server):
            down = self.bitmap(rank, iteration, server, packets)
            self.count("down", packets, [down])
            result = without(total, down, self.size)
            yield rank, result, up_bound + left_out([total], [result])

    def _entered(self, iteration: int, bitmaps: Sequence[int]) -> Iterator[str]:
        """Each packet that came entered its sum once, and no other did."""
        server = self.hosts[-1].name
        for packet in range(self.packets):
            inside = self.told.summed.get((server, iteration * self.packets + packet))
            wanted = tuple(bitmap >> packet & 1 for bitmap in bitmaps)
            if inside != wanted:
                found = "its sum is not reported" if inside is None else f"its sum has the ranks {inside} times"
                yield f"{server}, iteration {iteration}, packet {packet}: {found}, {wanted} came"

    def _parts_of(self, iteration: int, bitmaps: Sequence[int]) -> Iterator[str]:
        """The parts of each sum are who is inside, apart from each other, and those of several are switches'."""
        server = self.hosts[-1]
        for packet in range(self.packets):
            block = iteration * self.packets + packet
            parts = self.told.parts.get((server.name, block), ())
            inside = sum(1 << rank for rank, bitmap in enumerate(bitmaps) if bitmap >> packet & 1)
            title = f"{server.name}, iteration {iteration}, packet {packet}"
            if sum(parts) != inside or sum(part.bit_count() for part in parts) != inside.bit_count():
                yield f"{title}: the parts {[f'{part:#x}' for part in parts]} are not the ranks {inside:#x}"
            for part in parts:
                if part.bit_count() > 1 and (server.group, block, part) not in self.told.sent:
                    yield f"{title}: no switch sent a sum of the ranks {part:#x}"

    def _total(self, iteration: int, gradients: Sequence[Array], came: Sequence[Array]) -> Array:
        if not self._in_parts:
            return fold(came, self.arithmetic)
        total = np.empty_like(gradients[0])
        for packet in range(self.packets):
            place = slice(packet * self.size, (packet + 1) * self.size)
            parts = self.told.parts[self.hosts[-1].name, iteration * self.packets + packet]
            sums = [
                fold([gradients[rank][place] for rank in range(len(gradients)) if part >> rank & 1], self.arithmetic)
                for part in sorted(parts, key=lambda part: part & -part)
            ]
            total[place] = fold(sums, self.arithmetic)
        return total
