"""gloo (torch.distributed): a process per host that lives as long as the network, since importing torch takes longer
than most all-reduces. Each all-reduce has connections of its own."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from testbed.bench.peers import gloo_rank
from testbed.bench.peers.cases import PeerBenchCase, Sample
from testbed.bench.peers.exchange import all_there, read_seconds
from testbed.bench.peers.network import PeerNetwork
from testbed.bench.peers.processes import TIMEOUT_S, PeerProgram, run_in, wait_until

__all__ = ["Gloo", "missing"]


def missing() -> str:
    """Empty: all is there."""
    return "" if importlib.util.find_spec("torch") else "torch (pip install torch==2.13.0)"


class Gloo:
    name = "gloo"

    def __init__(self, network: PeerNetwork, folder: Path, programs: list[PeerProgram]) -> None:
        self._network, self._folder, self._programs = network, folder, programs
        self._number = 0

    @classmethod
    @contextmanager
    def on(cls, network: PeerNetwork) -> Iterator[Gloo]:
        """Its ranks, rank k on the k-th host."""
        folder = network.folder / "gloo"
        folder.mkdir()
        script, ranks = str(Path(gloo_rank.__file__).resolve()), len(network.hosts)
        with ExitStack() as stack:
            programs = [
                stack.enter_context(
                    run_in(
                        network, host, f"gloo-{host}",
                        [sys.executable, "-P", script, str(folder), str(rank), str(ranks)],
                        {"GLOO_SOCKET_IFNAME": network.interface(host)},
                    )
                )
                for rank, host in enumerate(network.hosts)
            ]  # fmt: skip
            yield cls(network, folder, programs)

    def measure(self, case: PeerBenchCase, repeat: int) -> Sample:
        """Raises InternalError when a rank ends, or a sum is wrong."""
        self._number += 1
        folder, network, ranks = self._folder / str(self._number), self._network, len(self._programs)
        nascent = self._folder / "new"
        nascent.mkdir()
        (nascent / "size").write_text(str(case.size_bytes // 4), encoding="ascii")
        nascent.rename(folder)
        with network.losing(case.loss, repeat) as losses:
            wait_until(network, self._programs, lambda: all_there(folder, "ready", ranks), "ranks", TIMEOUT_S)
            losses.start()
            (folder / "go").touch()
            wait_until(network, self._programs, lambda: all_there(folder, "result", ranks), str(case), TIMEOUT_S)
            lost = losses.lost
        (folder / "end").touch()
        return Sample(self.name, case, repeat, read_seconds(folder, ranks), lost)
