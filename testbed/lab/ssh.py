"""One host, reached by SSH through fabric: strict host keys, a limit on every wait, bounded output, quoted arguments.

Everything that goes wrong is a `LabError` with the host, what was tried and the end of what it said.
"""

from __future__ import annotations

import getpass
import logging
import shlex
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from testbed.lab.dial import dial
from testbed.lab.keys import authentication
from testbed.lab.model import Host, Inventory
from testbed.lab.trust import TRUST_PORT, fingerprint, known_keys
from workloads.errors import LabError

__all__ = ["Shell", "SshCommand", "host_key_of", "open_shell", "quote", "tail"]

MAX_OUTPUT = 4 << 20
"""bytes of stdout and of stderr that a command may say"""
_GRACE_S = 3.0
"""time between the limit on the host, which ends the command, and ours, which gives the host up"""
_TAIL = 2000
_logger = logging.getLogger("paramiko")
_logger.addHandler(logging.NullHandler())
_logger.propagate = False


@dataclass(frozen=True, slots=True)
class SshCommand:
    """What a command left."""

    argv: tuple[str, ...]
    status: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace")


def quote(argv: Sequence[str]) -> str:
    """One line for the shell on the other side that means exactly these arguments."""
    return shlex.join(argv)


def tail(*outputs: bytes) -> str:
    text = "\n".join(part for output in outputs if (part := output.decode(errors="replace").strip()))
    # Nothing that a host says moves our terminal.
    text = "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)
    return text if len(text) <= _TAIL else "[...]" + text[-_TAIL:]


class Shell:
    """An open connection. Not for several threads at once."""

    def __init__(self, host: Host, connection: Any, gateway: Shell | None) -> None:
        self.host, self.connection, self._gateway = host, connection, gateway

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float | None = None,
        check: bool = True,
        max_output: int = MAX_OUTPUT,
    ) -> SshCommand:
        """Runs a command, at most `timeout_s` (default: the host's). Raises LabError when the host does not answer,
        says too much or, with `check`, when the exit status is not 0. The command is ended on the host when its time is
        over."""
        limit = self.host.command_timeout_s if timeout_s is None else timeout_s
        shown = quote(argv)[:300]
        deadline = time.monotonic() + limit + _GRACE_S
        channel = self.channel(["timeout", "-k", "2", f"{limit:g}", *argv])
        try:
            out, err = self._talk(channel, stdin, deadline, max_output, shown)
            while not channel.exit_status_ready():
                if time.monotonic() > deadline:
                    raise self._late(shown, limit, out, err)
                channel.status_event.wait(0.05)
            status = channel.recv_exit_status()
        finally:
            channel.close()
        if status in (124, 137):
            raise self._late(shown, limit, out, err)
        if status < 0:
            raise LabError(self.host.name, f"the connection ended during `{shown}`", tail(out, err))
        if check and status != 0:
            raise LabError(self.host.name, f"`{shown}` ended with exit status {status}", tail(out, err))
        return SshCommand(tuple(argv), status, out, err)

    def channel(self, argv: Sequence[str]) -> Any:
        """A command with its streams, for who talks to it. Raises LabError."""
        from paramiko import SSHException

        try:
            channel = self.connection.transport.open_session(timeout=self.host.connect_timeout_s)
            channel.settimeout(self.host.connect_timeout_s)
            channel.exec_command(quote(argv))
        except (SSHException, OSError, EOFError) as error:
            raise LabError(self.host.name, f"could not start `{quote(argv)[:300]}`: {error or 'no answer'}") from error
        return channel

    def _talk(self, channel: Any, stdin: bytes, deadline: float, max_output: int, shown: str) -> tuple[bytes, bytes]:
        out, err, rest = bytearray(), bytearray(), memoryview(stdin)
        channel.settimeout(0.05)
        sending = True
        while True:
            if sending and not rest:
                channel.shutdown_write()
                sending = False
            if sending and channel.send_ready():
                try:
                    rest = rest[channel.send(rest[:32_768]) :]
                except OSError:
                    # It reads no more; its exit status says the rest.
                    rest, sending = rest[:0], False
            while channel.recv_stderr_ready():
                err += channel.recv_stderr(65_536)
            try:
                data = channel.recv(65_536) if not sending or channel.recv_ready() else None
            except TimeoutError:
                data = None
            if data == b"":
                while channel.recv_stderr_ready():
                    err += channel.recv_stderr(65_536)
                return bytes(out), bytes(err)
            out += data or b""
            if len(out) > max_output or len(err) > max_output:
                raise LabError(
                    self.host.name, f"`{shown}` said more than {max_output} bytes", tail(bytes(out[-_TAIL:]))
                )
            if time.monotonic() > deadline:
                raise self._late(shown, deadline - _GRACE_S, bytes(out), bytes(err), absolute=True)

    def _late(self, shown: str, limit: float, out: bytes, err: bytes, *, absolute: bool = False) -> LabError:
        within = "its time" if absolute else f"{limit:g} s"
        return LabError(self.host.name, f"`{shown}` did not end within {within}", tail(out, err))

    def close(self) -> None:
        self.connection.close()
        if self._gateway is not None:
            self._gateway.close()

    def __enter__(self) -> Shell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_shell(inventory: Inventory, host: Host) -> Shell:
    """Connected and authenticated, within the host's connect_timeout. Raises LabError."""
    from paramiko import RejectPolicy

    return _open(inventory, host, RejectPolicy, known_keys(inventory.known_hosts))


def host_key_of(inventory: Inventory, host: Host) -> Any:
    """The key that the host shows now (a paramiko PKey), trusted or not, without a login. Raises LabError."""
    from paramiko import SSHException, Transport

    sock, gateway = _socket(inventory, host)
    try:
        with _limited(host, sock.close) as limit:
            transport = Transport(sock)
            transport.banner_timeout = host.connect_timeout_s
            try:
                transport.start_client(timeout=host.connect_timeout_s)
                return transport.get_remote_server_key()
            except (SSHException, OSError, EOFError) as error:
                raise limit.error(error) from error
            finally:
                transport.close()
    finally:
        sock.close()
        if gateway is not None:
            gateway.close()


def _socket(inventory: Inventory, host: Host) -> tuple[Any, Shell | None]:
    if host.jump is None:
        return dial(host, host.connect_timeout_s), None
    gateway = open_shell(inventory, inventory.hosts[host.jump])
    try:
        sock = gateway.connection.transport.open_channel(
            "direct-tcpip", (host.address, host.port), ("127.0.0.1", 0), timeout=host.connect_timeout_s
        )
    except Exception as error:
        gateway.close()
        raise LabError(
            host.name, f"unreachable: {host.address} port {host.port} through {host.jump}: {error}"
        ) from error
    return sock, gateway


def _open(inventory: Inventory, host: Host, policy: Any, keys: Any) -> Shell:
    from fabric import Config, Connection
    from paramiko import AuthenticationException, BadHostKeyException, SSHException

    secrets = authentication(host)
    sock, gateway = _socket(inventory, host)
    # The file of the lab decides alone: nothing of ~/.ssh, nothing added.
    connection = Connection(
        host.name,
        user=host.user or getpass.getuser(),
        port=TRUST_PORT,
        config=Config(lazy=True, overrides={"load_ssh_configs": False}),
        connect_timeout=host.connect_timeout_s,
        connect_kwargs={
            **secrets,
            "sock": sock,
            "banner_timeout": host.connect_timeout_s,
            "auth_timeout": host.connect_timeout_s,
        },
    )
    connection.client.set_missing_host_key_policy(policy())
    for name in keys.keys():  # noqa: SIM118 (HostKeys is no dict)
        for kind, key in keys[name].items():
            connection.client.get_host_keys().add(name, kind, key)
    try:
        with _limited(host, sock.close) as limit:
            try:
                connection.open()
            except BadHostKeyException as error:
                raise LabError(
                    host.name,
                    f"its host key is {fingerprint(error.key)}, but {inventory.known_hosts} trusts "
                    f"{fingerprint(error.expected_key)}: another machine may answer at its address. If the host was "
                    f"installed again: tb lab trust --replace {host.name}",
                ) from None
            except AuthenticationException as error:
                raise LabError(host.name, f"refuses user {connection.user} with {_reference(host)}: {error}") from None
            except SSHException as error:
                if "not found in known_hosts" in str(error):
                    raise LabError(
                        host.name,
                        f"its host key is not in {inventory.known_hosts}; see it and record it: tb lab trust "
                        f"{host.name}",
                    ) from None
                if "No authentication methods" in str(error):
                    raise LabError(host.name, "its key is in an SSH agent, but that holds none (ssh-add -l)") from None
                raise limit.error(error) from error
            except (OSError, EOFError) as error:
                raise limit.error(error) from error
        connection.transport.set_keepalive(5)
    except BaseException:
        connection.close()
        sock.close()
        if gateway is not None:
            gateway.close()
        raise
    return Shell(host, connection, gateway)


def _reference(host: Host) -> str:
    key = host.key
    return "the keys of the SSH agent" if key.agent else f"the key of {key.file or '$' + str(key.env)}"


class _limited:
    """Ends a handshake that takes too long as a whole: each of its waits has a limit of its own, but there are
    several."""

    def __init__(self, host: Host, end: Callable[[], None]) -> None:
        self._host, self._end, self._late = host, end, False
        self._end_at = time.monotonic() + host.connect_timeout_s
        self._timer = threading.Timer(host.connect_timeout_s, self._expire)
        self._timer.daemon = True

    def _expire(self) -> None:
        self._late = True
        self._end()

    def error(self, error: BaseException) -> LabError:
        # A wait inside the handshake may be over just before ours, and what paramiko says then depends on where it is.
        is_over = self._late or time.monotonic() >= self._end_at
        if is_over or isinstance(error, TimeoutError) or "banner" in str(error):
            return LabError(
                self._host.name, f"did not complete the SSH handshake within {self._host.connect_timeout_s:g} s"
            )
        return LabError(self._host.name, f"ended the SSH handshake: {str(error) or type(error).__name__}")

    def __enter__(self) -> _limited:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
