"""The two agendas of the simulated world, side by side."""

from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.native.agenda import NativeAgenda
from testbed.worlds.simulated.native.library import load_core

__all__ = ["agendas"]


def agendas(seed: int) -> tuple[Agenda, Agenda]:
    library = load_core()
    assert library is not None
    return Agenda(seed), NativeAgenda(seed, library, 256)
