"""What is known of program `steer` before it runs. Plans choose it, no scenario does."""

from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _steer() -> ProgramFactory:
    from switch_nodes.steering.fast import create_steer

    return create_steer


KINDS = (ProgramKind("steer", "", _steer, uses=("steering",), sums=False),)
