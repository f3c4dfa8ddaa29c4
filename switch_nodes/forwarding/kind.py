"""What is known of program `forward` before it runs."""

from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _forward() -> ProgramFactory:
    from switch_nodes.forwarding.fast import create_forward

    return create_forward


KINDS = (
    ProgramKind(
        "forward",
        "plain L2 forwarding: what a switch without aggregation does",
        _forward,
        sums=False,
    ),
)
