"""The simulated world."""

from testbed.worlds.simulated.world import SimulatedWorld, Simulation, make_worker, simulate

__all__ = ["SimulatedWorld", "Simulation", "make_worker", "simulate"]
