"""OpenMPI: one `mpirun` for each all-reduce, in the namespace of the first host.

Its daemons go to the other hosts by an agent of ours in the place of ssh, which enters their namespaces. All of it
lives in a namespace of processes that ends with mpirun, and mpirun ends with us.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.bench.peers.cases import PeerBenchCase, Sample
from testbed.bench.peers.exchange import all_there, read_seconds
from testbed.bench.peers.network import PeerNetwork
from testbed.bench.peers.processes import TIMEOUT_S, run_in, wait_until
from topologies import PREFIX_LENGTH
from workloads.errors import InternalError

__all__ = ["OpenMpi", "missing"]

_SOURCE = Path(__file__).with_name("openmpi.c")
_PROGRAMS, _PACKAGES = ("mpirun", "mpicc"), "openmpi-bin libopenmpi-dev"
_COMPILE_S = 60
_AGENT = """#!/bin/sh
# ADDRESS COMMAND...: the command on that host.
case $1 in
{hosts}*) echo "no host $1" >&2; exit 1;;
esac
shift
exec nsenter --net=/proc/$pid/ns/net unshare --uts sh -c 'hostname "$0" && exec sh -c "$1"' "$name" "$*"
"""


def missing() -> str:
    """Empty: all is there."""
    there = all(map(shutil.which, _PROGRAMS)) and _has_headers()
    return "" if there else f"OpenMPI (apt-get install {_PACKAGES})"


def _has_headers() -> bool:
    """mpicc comes without them."""
    done = subprocess.run(
        ["mpicc", "-E", "-o", "/dev/null", _SOURCE], capture_output=True, timeout=_COMPILE_S, check=False
    )
    return done.returncode == 0


def agent_script(pids: dict[str, int], ips: dict[str, str]) -> str:
    """What mpirun calls to start a daemon on a host. Hosts need different names, by which OpenMPI distinguishes
    them."""
    lines = [f"{ips[host]}) pid={pid} name=ina-{host};;\n" for host, pid in pids.items()]
    return _AGENT.format(hosts="".join(lines))


class OpenMpi:
    name = "openmpi"

    def __init__(self, network: PeerNetwork, folder: Path) -> None:
        self._network, self._folder, self._number = network, folder, 0

    @classmethod
    @contextmanager
    def on(cls, network: PeerNetwork) -> Iterator[OpenMpi]:
        """Raises InternalError when the program does not compile."""
        folder = network.folder / "openmpi"
        folder.mkdir()
        agent = folder / "agent"
        agent.write_text(agent_script({host: network.pid(host) for host in network.hosts}, network.ips))
        agent.chmod(0o700)
        done = subprocess.run(
            ["mpicc", "-O2", "-Wall", "-o", folder / "rank", _SOURCE],
            capture_output=True, text=True, timeout=_COMPILE_S, check=False,
        )  # fmt: skip
        if done.returncode:
            raise InternalError(f"mpicc refuses {_SOURCE.name}: {done.stderr.strip()[:500]}")
        yield cls(network, folder)

    def measure(self, case: PeerBenchCase, repeat: int) -> Sample:
        """Raises InternalError when mpirun ends badly, or a sum is wrong."""
        self._number += 1
        network, folder, ranks = self._network, self._folder / str(self._number), len(self._network.hosts)
        folder.mkdir()
        with (
            network.losing(case.loss, repeat) as losses,
            run_in(
                network, network.hosts[0], f"openmpi-{self._number}", self._command(folder, case.size_bytes // 4), {}
            ) as program,
        ):
            wait_until(network, [program], lambda: all_there(folder, "ready", ranks), "ranks", TIMEOUT_S)
            losses.start()
            (folder / "go").touch()
            wait_until(network, [program], lambda: all_there(folder, "result", ranks), str(case), TIMEOUT_S)
            lost = losses.lost
        return Sample(self.name, case, repeat, read_seconds(folder, ranks), lost)

    def _command(self, folder: Path, elements: int) -> list[str | Path]:
        """TCP alone, over the addresses of the rack; ranks give the processor away while they wait, since they share
        it."""
        ips = [self._network.ips[host] for host in self._network.hosts]
        subnet = f"{ips[0]}/{PREFIX_LENGTH}"
        settings: dict[str, str | Path] = {
            "plm_rsh_agent": self._folder / "agent",
            "plm_rsh_no_tree_spawn": "1",
            "pml": "ob1",
            "btl": "tcp,self",
            "btl_tcp_if_include": subnet,
            "oob_tcp_if_include": subnet,
            "mpi_yield_when_idle": "1",
            "orte_tmpdir_base": folder,
        }
        options: list[str | Path] = [word for name, value in settings.items() for word in ("--mca", name, value)]
        return [
            "unshare", "--pid", "--fork", "--kill-child", "mpirun", "--allow-run-as-root", "--leave-session-attached",
            "--bind-to", "none", "--host", ",".join(ips), "-np", str(len(ips)), *options,
            self._folder / "rank", folder, str(elements),
        ]  # fmt: skip
