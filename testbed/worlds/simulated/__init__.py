"""The simulated world."""

from testbed.worlds.simulated.world import SimulatedWorld, Simulation, simulate

__all__ = ["SimulatedWorld", "Simulation", "simulate"]
