"""Parallelisation strategies of a chain of operators: what they cost, which of them are worth having, and what traffic
they make."""

from workloads.strategies.chain import Chain, Operator
from workloads.strategies.costs import Price, StrategyPoint, price_of
from workloads.strategies.frontier import frontier
from workloads.strategies.models import CHAIN_NAMES, chain_of_model
from workloads.strategies.stages import Stage, stages_of

__all__ = [
    "CHAIN_NAMES",
    "Chain",
    "Operator",
    "Price",
    "Stage",
    "StrategyPoint",
    "chain_of_model",
    "frontier",
    "price_of",
    "stages_of",
]
