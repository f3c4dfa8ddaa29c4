"""One Open vSwitch of a run's own: database, sockets and logs in the run's folder, in the namespace of its switch.

It forwards in user space (datapath type netdev), so it needs no kernel module. It owns nothing of the machine: no
service, nothing under /var/lib or /run/openvswitch. Each thing stands in the ledger before it is made. The daemons are
children that die with us; interfaces that they make (two taps) go with the namespace. Until a controller has spoken it
forwards nothing (fail_mode secure), and without one it goes on by the rules that it has.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from testbed.kernel.ledger import Ledger, LinkEntry, PathEntry
from testbed.kernel.namespaces import enter, namespace_inode
from testbed.kernel.processes import ProcessId, child_setup, end_processes, identify, send_signal, take_precedence
from testbed.steering.buffers import widen_packet_sockets
from testbed.steering.entries import openflow_port
from workloads.errors import HostCapabilityError, InternalError

__all__ = ["NEEDED_PROGRAMS", "OpenVSwitch", "missing_programs"]

NEEDED_PROGRAMS = ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl")
_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
_TIMEOUT_S = 10.0
_COMMAND_S = 15
_INSTEAD = "use switch.commodity: soft"
_LARGEST_BUFFER = 1 << 29
_FIRST_FRAME = "ff" * 6 + "02494e530000" + "88b5" + "00" * 46
"""frame without a receiver: a local experimental EtherType (IEEE 802)"""
_FAST_RETRY_MS = 1000
"""longest wait between two attempts to reach a controller"""


def missing_programs() -> tuple[str, ...]:
    """Programs and files of Open vSwitch that are not here."""
    folders = [*os.environ.get("PATH", os.defpath).split(os.pathsep), "/usr/sbin", "/sbin"]
    missing = [
        name for name in NEEDED_PROGRAMS if not any(os.access(f"{folder}/{name}", os.X_OK) for folder in folders)
    ]
    return (*missing, *(() if _SCHEMA.exists() else (str(_SCHEMA),)))


def _footprint(mtu: int) -> int:
    """Bytes of kernel memory for one frame, generously."""
    return 2 * mtu + 1024


def _listens(path: Path) -> bool:
    """Whether a process takes connections there; a socket has a name before it does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        return trial.connect_ex(str(path)) == 0


class OpenVSwitch:
    """Switch `name` with datapath id `number`, on `interfaces` (in port order, each with MTU and queue length), in the
    namespace of process `pid`. Raises HostCapabilityError when it does not come up."""

    def __init__(
        self, name: str, number: int, interfaces: Sequence[tuple[str, int, int]], pid: int, ledger: Ledger, log: Path
    ) -> None:
        self.name, self._number, self._interfaces = name, number, tuple(interfaces)
        self._pid, self._ledger, self._log = pid, ledger, log
        self._bridge = f"ovs{number}"
        self._processes: list[tuple[subprocess.Popen[bytes], ProcessId]] = []
        self._environment = {
            **os.environ,
            "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin",
            **{f"OVS_{what}DIR": str(ledger.folder) for what in ("RUN", "LOG", "DB")},
        }

    def _file(self, suffix: str) -> Path:
        return self._ledger.folder / f"{self.name}.{suffix}"

    def start(self, controller: str) -> None:
        """`controller`: where it is, as Open vSwitch writes it (tcp:127.0.0.1:6653)."""
        self._note_all()
        database, remote = self._file("db"), f"unix:{self._file('db.sock')}"
        self._command("ovsdb-tool", "create", str(database), str(_SCHEMA))
        self._daemon("ovsdb-server", str(database), f"--remote=p{remote}", f"--unixctl={self._file('ovsdb.ctl')}")
        self._await(self._file("db.sock"))
        threads = [f"other_config:n-{kind}-threads=1" for kind in ("handler", "revalidator")]
        self._vsctl("--no-wait", "init", "--", "set", "Open_vSwitch", ".", *threads)
        self._daemon("ovs-vswitchd", remote, f"--unixctl={self._file('vswitchd.ctl')}", "-vconsole:warn")
        bridge = self._bridge
        words = ["add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=netdev", "protocols=OpenFlow15"]
        words += ["fail_mode=secure", f"other_config:datapath-id={self._number:016x}"]
        words += ["other_config:disable-in-band=true", "mcast_snooping_enable=false"]
        # Else it replaces the qdisc of each of its ports: our shaping.
        words += ["--", "--id=@keep", "create", "QoS", "type=linux-noop"]
        for port, (interface, mtu, _) in enumerate(self._interfaces):
            words += ["--", "add-port", bridge, interface, "--", "set", "Port", interface, "qos=@keep"]
            words += ["--", "set", "Interface", interface, f"ofport_request={openflow_port(port)}"]
            words += [f"mtu_request={mtu}"]
        words += ["--", "set-controller", bridge, controller]
        words += ["--", "set", "Controller", bridge, f"max_backoff={_FAST_RETRY_MS}"]
        self._vsctl(*words)
        self._verify()
        self._widen_buffers()

    def _verify(self) -> None:
        """It may accept a wish and do something else."""
        for port, (interface, _, _) in enumerate(self._interfaces):
            found = self._vsctl("get", "Interface", interface, "ofport").strip()
            if found != str(openflow_port(port)):
                error = self._vsctl("get", "Interface", interface, "error").strip()
                raise InternalError(
                    f"Open vSwitch of {self.name}: {interface} shall be its port {openflow_port(port)}, it says "
                    f"{found} "
                    f"(error: {error})"
                )

    def _widen_buffers(self) -> None:
        """For all that the queues of its ports may hold. It makes the one socket that it sends by when it first
        sends."""
        words = f"in_port=local packet={_FIRST_FRAME} actions=output:{openflow_port(0)}"
        bridge = f"unix:{self._ledger.folder / self._bridge}.mgmt"
        self._command("ovs-ofctl", "-OOpenFlow15", "packet-out", bridge, words)
        _, vswitchd = self._processes[-1]
        size = min(_LARGEST_BUFFER, sum(queue * _footprint(mtu) for _, mtu, queue in self._interfaces))
        try:
            found = widen_packet_sockets(vswitchd, size)
        except OSError as error:
            raise HostCapabilityError(
                f"leave to widen the socket buffers of Open vSwitch ({error})", _INSTEAD
            ) from error
        if found <= len(self._interfaces):
            raise InternalError(f"Open vSwitch of {self.name} has {found} packet sockets, and no one to send by")

    def pause(self) -> bool:
        """Whether it was running."""
        stopped = [send_signal(process, signal.SIGSTOP) for _, process in self._processes]
        return any(stopped)

    def resume(self) -> None:
        for _, process in self._processes:
            send_signal(process, signal.SIGCONT)

    @property
    def is_alive(self) -> bool:
        return bool(self._processes) and all(daemon.poll() is None for daemon, _ in self._processes)

    def check(self) -> None:
        """Raises InternalError when a daemon ended by itself."""
        for daemon, _ in self._processes:
            if daemon.poll() is not None:
                raise InternalError(
                    f"Open vSwitch of {self.name} ended unexpectedly (status {daemon.returncode}){self._tail()}"
                )

    def stop(self) -> None:
        """Ends the daemons; also a kill by a fault, as neither is asked first. `start` works again afterwards."""
        end_processes(process for _, process in reversed(self._processes))
        for daemon, _ in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(timeout=1)
        self._processes.clear()
        for name, _ in self._paths():
            (self._ledger.folder / name).unlink(missing_ok=True)

    def _paths(self) -> list[tuple[str, str]]:
        own = [(f"{self.name}.{suffix}", "socket") for suffix in ("db.sock", "ovsdb.ctl", "vswitchd.ctl")]
        bridge = [(f"{self._bridge}.{suffix}", "socket") for suffix in ("mgmt", "snoop")]
        return [*own, *bridge, (f"{self.name}.db", "file"), (f".{self.name}.db.~lock~", "file")]

    def _note_all(self) -> None:
        for name, kind in self._paths():
            self._ledger.note(PathEntry(name, kind))
        inode = namespace_inode(self._pid)
        for tap in (self._bridge, "ovs-netdev"):
            self._ledger.note(LinkEntry(tap, inode))

    def _daemon(self, program: str, *arguments: str) -> None:
        parent, role, ledger, pid = os.getpid(), f"{program} {self.name}", self._ledger, self._pid

        def prepare() -> None:
            child_setup(parent, lambda process: ledger.note_process(process, role))
            enter(pid)
            take_precedence()

        with open(self._log, "ab") as log:
            daemon = subprocess.Popen(
                [program, "--no-chdir", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._ledger.folder,
                env=self._environment,
                preexec_fn=prepare,
                start_new_session=True,
            )
        identity = identify(daemon.pid)
        if identity is not None:
            self._processes.append((daemon, identity))

    def _await(self, path: Path) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while not _listens(path):
            if time.monotonic() > deadline or not self.is_alive:
                raise HostCapabilityError(f"a running Open vSwitch ({self.name}){self._tail()}", "run `tb doctor`")
            time.sleep(0.005)

    def _vsctl(self, *words: str) -> str:
        return self._command("ovs-vsctl", f"--db=unix:{self._file('db.sock')}", f"--timeout={_COMMAND_S}", *words)

    def _command(self, *words: str) -> str:
        parent, role, ledger = os.getpid(), f"{words[0]} {self.name}", self._ledger
        # It waits for daemons that may be gone, so it must not outlive us either.
        done = subprocess.run(
            words, capture_output=True, text=True, env=self._environment, check=False,
            preexec_fn=lambda: child_setup(parent, lambda process: ledger.note_process(process, role)),
        )  # fmt: skip
        if done.returncode:
            raise HostCapabilityError(
                f"Open vSwitch for {self.name} ({words[0]} says: {done.stderr.strip()}){self._tail()}",
                f"run `tb doctor` to see what is missing, or {_INSTEAD}",
            )
        return done.stdout

    def _tail(self) -> str:
        try:
            text = self._log.read_bytes()[-1500:].decode(errors="replace").strip()
        except OSError:
            return ""
        return f"\n{text}" if text else ""
