"""GRID's Eq. 1: which node aggregates whose gradient, if links were no matter.

    max lambda   sum_s x[n,s] = 1,  r[n,s] <= x[n,s] T,  r[n,s] <= y[s],  lambda <= sum_s r[n,s],
                 sum_n r[n,s] <= C_s,  sum_n r[n,PS] + sum_s y[s] <= B_PS,  x binary

Fang et al., IEEE/ACM ToN 31(5), 2023, doi 10.1109/TNET.2023.3244794. It cannot see the links of the paper's own
example; the program of `linkaware` can."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topologies.routing.gradients.choices import Floats
from topologies.routing.gradients.linear import LinearProgram
from topologies.routing.gradients.network import network_of
from topologies.routing.gradients.problem import Problem

__all__ = ["Eq1", "solve_eq1"]


@dataclass(frozen=True, slots=True)
class Eq1:
    rate_bps: float
    """lambda"""
    sends_bps: Floats
    """(workers, aggregators and then the server): r"""


def solve_eq1(problem: Problem, most_bps: float, *, whole: bool = False) -> Eq1:
    """`most_bps`: T, the largest sending rate; `whole`: x binary. Raises ValueError for several servers."""
    if len(problem.servers) != 1:
        raise ValueError("Eq. 1 knows one server")
    network = network_of(problem)
    server = network.arcs[network.server_arcs[problem.servers[0]]].capacity_bps
    top, nodes = most_bps / server, network.aggregators
    program = LinearProgram()
    slowest = program.variable(cost=-1.0)
    merged = [program.variable() for _ in nodes]
    sends = [[program.variable() for _ in (*nodes, "server")] for _ in problem.workers]
    for row in sends:
        if whole:
            picks = [program.variable(most=1.0, whole=True) for _ in row]
            program.equal([(pick, 1.0) for pick in picks], 1.0)
            for rate, pick in zip(row, picks, strict=True):
                program.at_most([(rate, 1.0), (pick, -top)], 0.0)
        else:
            # With x free between 0 and 1, x = r / T, padded up to 1: only the sum is left of it.
            program.at_most([(rate, 1.0) for rate in row], top)
        for rate, most in zip(row, merged, strict=False):
            program.at_most([(rate, 1.0), (most, -1.0)], 0.0)
        program.at_least([*((rate, 1.0) for rate in row), (slowest, -1.0)], 0.0)
    for index, name in enumerate(nodes):
        program.at_most([(row[index], 1.0) for row in sends], problem.capacity_bps(name) / server)
    program.at_most([*((row[-1], 1.0) for row in sends), *((rate, 1.0) for rate in merged)], 1.0)
    values = program.solve().values
    rates = np.maximum(0.0, np.array([[values[rate] for rate in row] for row in sends])) * server
    return Eq1(float(values[slowest]) * server, rates)
