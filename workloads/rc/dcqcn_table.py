"""The reaction point of DCQCN as a table.

Rule 1: without a CNP nothing is limited (LINE_RATE), and nothing runs.
Rule 2: a CNP cuts the rate and keeps the old
        one as the target. Two CNPs closer than the cut period cut once; both raise alpha.
Rule 3: from then on a timer
        and a counter of sent bytes each ask for an increase, every so often. RECOVERY halves the gap to the target.
        When one of the two has asked F times since the last cut, ADDITIVE first moves the target up a step. When both
        have asked more than F times, HYPER moves it up faster and faster.
Rule 4: a rate that has come back to that of the line is not limited any more.

Source: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM'15, sections 3.1 and 5 (from
general knowledge of it: docs/congestion.md marks what is not checked against a text). Rule 4 and the cut period for
CNPs are of adapters, not of the paper.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

__all__ = ["REACTION_TABLE", "ReactionAction", "ReactionEvent", "ReactionState", "ReactionStep"]


class ReactionState(IntEnum):
    LINE_RATE = 0
    """not limited"""
    RECOVERY = 1
    """halves the gap to the rate before the cut"""
    ADDITIVE = 2
    HYPER = 3


class ReactionEvent(IntEnum):
    CNP = 0
    CNP_SOON = 1
    """within the cut period of the last cut"""
    INCREASE = 2
    """timer or byte counter; neither has asked F times since the last cut"""
    INCREASE_ONE = 3
    """one of them has asked F times or more"""
    INCREASE_BOTH = 4
    """both have asked more than F times"""
    BACK = 5
    """the rate is that of the line again"""


class ReactionAction(IntEnum):
    CUT = 0
    """target = rate; rate = rate x (1 - alpha / 2), and not below the least rate"""
    RAISE_ALPHA = 1
    """alpha = (1 - g) alpha + g"""
    RESTART = 2
    """timer, byte counter and what they have asked for begin again"""
    STEP_TARGET = 3
    """target = target + R_AI, at most that of the line"""
    LEAP_TARGET = 4
    """target = target + i x R_HAI, i being how often both have asked beyond F"""
    CLOSE_IN = 5
    """rate = (target + rate) / 2"""
    STOP = 6
    """timer and byte counter"""


class ReactionStep(NamedTuple):
    state: ReactionState
    actions: tuple[ReactionAction, ...] = ()


_S, _E, _A = ReactionState, ReactionEvent, ReactionAction

REACTION_TABLE: dict[tuple[ReactionState, ReactionEvent], ReactionStep] = {}
for _state in ReactionState:
    _limited = _state is not _S.LINE_RATE
    REACTION_TABLE[_state, _E.CNP] = ReactionStep(_S.RECOVERY, (_A.CUT, _A.RAISE_ALPHA, _A.RESTART))
    REACTION_TABLE[_state, _E.CNP_SOON] = ReactionStep(_state, (_A.RAISE_ALPHA,))
    # Nothing asks at line rate: nothing runs there.
    for _event, _after, _actions in (
        (_E.INCREASE, _S.RECOVERY, (_A.CLOSE_IN,)),
        (_E.INCREASE_ONE, _S.ADDITIVE, (_A.STEP_TARGET, _A.CLOSE_IN)),
        (_E.INCREASE_BOTH, _S.HYPER, (_A.LEAP_TARGET, _A.CLOSE_IN)),
        (_E.BACK, _S.LINE_RATE, (_A.STOP,)),
    ):
        REACTION_TABLE[_state, _event] = ReactionStep(_after, _actions) if _limited else ReactionStep(_state)
