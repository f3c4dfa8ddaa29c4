"""The process that keeps an emulated lab: it owns the ledger, makes hosts and networks, and waits for `down`.

It receives requests (`messages`) on a unix socket in the lab's folder.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.kernel.cleanup import find_leftovers, remove_run
from testbed.kernel.ledger import Ledger, PathEntry, ProcessEntry
from testbed.kernel.namespaces import unshare_network
from testbed.kernel.processes import end_processes, name_process
from testbed.lab.agent.protocol import AgentRefused, decode, encode, failure, success
from testbed.lab.agent.requests import Request, read_request
from testbed.lab.emulated.hardware import bitstream_of, library_of
from testbed.lab.emulated.host import HostTask, hold
from testbed.lab.emulated.messages import KINDS, CycleHost, Keeping, ShowPids, TakeDown
from testbed.lab.emulated.network import build_networks
from testbed.lab.emulated.shape import BITSTREAM, CARD_HOST, CARD_SOCKET, LabShape, inventory_text
from workloads.codec import PLAIN
from workloads.errors import HostCapabilityError, InternalError, TestbedError

__all__ = ["FILES", "KEEPER_SOCKET", "keep"]

KEEPER_SOCKET = "keeper.sock"
FILES = ("lab.yaml", "known_hosts", "id_ed25519", "keeper.log", BITSTREAM)
_START_S = 20.0


def keep(shape: LabShape, run: str, ready: int) -> None:
    """The keeper; never returns. Writes a `Keeping` to the pipe `ready`."""
    keeper = None
    try:
        keeper = _Keeper(shape, run)
        keeper.build()
    except BaseException as error:
        from testbed.history.codec import error_fields

        if not isinstance(error, TestbedError):
            error = InternalError("".join(traceback.format_exception(error)))
        os.write(ready, encode(PLAIN.encode_fields(Keeping(error=error_fields(error)))))
        if keeper is not None:
            keeper.remove()
        os._exit(1)
    os.write(ready, encode(PLAIN.encode_fields(Keeping(str(keeper.ledger.folder)))))
    os.close(ready)
    try:
        keeper.wait()
    finally:
        keeper.remove()
        os._exit(0)


def _key_pair() -> tuple[bytes, bytes]:
    """(private key in OpenSSH's format, `ssh-ed25519 ...`)"""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    return private, key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)


class _Keeper:
    def __init__(self, shape: LabShape, run: str) -> None:
        self.shape = shape
        try:
            self.ledger = Ledger.create(run, Path("/") / run)
        except OSError as error:
            raise HostCapabilityError(
                f"a folder for the lab ({error})", "set INA_STATE_DIR, or: tb lab down"
            ) from error
        name_process("tb lab keeper")
        self._holders: dict[str, socket.socket] = {}
        self._pids: dict[str, int] = {}
        self._socket: socket.socket | None = None
        self._over = False

    def build(self) -> None:
        folder = self.ledger.folder
        for name in FILES:
            self.ledger.note(PathEntry(name, "file"))
        self.ledger.note(PathEntry(KEEPER_SOCKET, "socket"))
        log = os.open(
            folder / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        os.dup2(log, 1)
        os.dup2(log, 2)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: setattr(self, "_over", True))
        private, public = _key_pair()
        _write(folder / "id_ed25519", private)
        _write(folder / BITSTREAM, bitstream_of(self.shape))
        # The namespace in which clients are, and no other process.
        unshare_network()
        known = []
        library = library_of(self.shape)
        made = b"" if library is None else library.read_bytes()
        for host in self.shape.all_hosts:
            host_private, host_public = _key_pair()
            known.append(f"{host} {host_public.decode()}\n")
            card = _card_command(self.shape) if host == CARD_HOST else ()
            address = self.shape.address(host)
            offset = dict(self.shape.clock_offsets).get(host, 0.0)
            task = HostTask(host, address, host_private, public + b"\n", self.shape.disk_bytes, offset, card)
            self._launch(replace(task, card_library=made) if card else task)
        for host in self.shape.all_hosts:
            self._pids[host] = self._await_up(host)
        build_networks(self.shape, self._pids, self.ledger)
        _write(folder / "known_hosts", "".join(known).encode())
        power = [sys.executable, str(Path(__file__).with_name("power.py")), str(folder)]
        namespace = f"/proc/{os.getpid()}/ns/net"
        self._await_sshd()
        self._await_card()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(folder / KEEPER_SOCKET))
        self._socket.listen(8)
        _write(folder / "lab.yaml", inventory_text(self.shape, namespace, power).encode())

    def _launch(self, task: HostTask) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            try:
                ours.close()
                hold(task, self.ledger, theirs)
            except BaseException:
                text = traceback.format_exc()
                with contextlib.suppress(OSError):
                    theirs.send(f"failed {text[-4000:]}".encode())
            os._exit(1)
        theirs.close()
        ours.settimeout(_START_S)
        self._holders[task.name] = ours

    def _await_up(self, host: str) -> int:
        """pid of its holder. Raises InternalError."""
        try:
            word, *more = self._holders[host].recv(8192).decode().split(" ")
        except TimeoutError:
            raise InternalError(f"emulated host {host} did not come up within {_START_S:g} s") from None
        if word != "up":
            raise InternalError(f"emulated host {host} did not come up: {' '.join(more)}")
        return int(more[0])

    def _await_sshd(self) -> None:
        """Until every sshd listens: what is given to a user works at once."""
        deadline = time.monotonic() + _START_S
        for host in self.shape.all_hosts:
            while True:
                try:
                    with socket.create_connection((self.shape.address(host), 22), 0.5):
                        break
                except OSError as error:
                    if time.monotonic() > deadline:
                        raise InternalError(f"the sshd of emulated host {host} does not listen: {error}") from error
                    time.sleep(0.02)

    def _await_card(self) -> None:
        """Until the card answers on its registers."""
        if not self.shape.card:
            return
        deadline = time.monotonic() + _START_S
        # The holder has the card host's files; a unix socket is where its file is.
        path = f"/proc/{self._pids[CARD_HOST]}/root{CARD_SOCKET}"
        while True:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
                try:
                    probe.connect(path)
                    return
                except OSError as error:
                    if time.monotonic() > deadline:
                        log = Path(path).with_suffix(".log")
                        said = log.read_text(errors="replace")[-2000:] if log.exists() else ""
                        raise InternalError(f"the emulated card does not come up: {error}\n{said}") from error
            time.sleep(0.05)

    def wait(self) -> None:
        assert self._socket is not None, "built"
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            while not self._over:
                for _ in selector.select(0.5):
                    with contextlib.suppress(OSError):
                        self._serve(self._socket.accept()[0])

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(5.0)
            try:
                answer = success(self._perform(read_request(decode(connection.recv(4096)), KINDS)))
            except (AgentRefused, ValueError) as error:
                answer = failure(f"not understood: {error}")
            connection.sendall(encode(answer))

    def _perform(self, request: Request[Any]) -> Any:
        """Raises Refused."""
        match request:
            case TakeDown():
                self._over = True
            case CycleHost(host, faults):
                if host not in self._holders:
                    raise AgentRefused(f"there is no host {host!r}; there are: {', '.join(self._holders)}")
                self._holders[host].send(b"cycle" if faults is None else b"cycle " + (faults or "none").encode())
                self._await_up(host)
                self._await_sshd()
                if host == CARD_HOST:
                    self._await_card()
            case ShowPids():
                return self._pids
        return None

    def remove(self) -> None:
        """Hosts first: what they run ends with them."""
        if self._socket is not None:
            self._socket.close()
        entries = self.ledger.entries()
        end_processes(
            entry.process
            for entry in entries
            if isinstance(entry, ProcessEntry) and entry.process != self.ledger.owner.process
        )
        find_leftovers(entries, 2.0)
        self.ledger.close()
        remove_run(self.ledger.folder, self.ledger.owner, entries)


def _write(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as file:
        file.write(data)


def _card_command(shape: LabShape) -> tuple[str, ...]:
    """The emulated card on its data ports."""
    if not shape.card:
        return ()
    from testbed.lab.emulated.card import card_command

    return card_command(shape)
