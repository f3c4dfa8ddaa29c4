"""Whom a rank gives its gradients to."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from workloads.ranks import client


def test_the_network_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody can make the folder in /tmp where a backend looks."""
    path = str(tmp_path / "ranks.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(path)
        server.listen()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(path)
            assert client.untrusted_peer(probe) is None
            monkeypatch.setattr(client, "trusted_users", frozenset)
            assert client.untrusted_peer(probe) is not None
        with pytest.raises(client.NetworkFailed, match=r"is of user \d+, who could give out any sum"):
            client.RankClient(path, 0, 2)
