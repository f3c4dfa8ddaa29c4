"""The switch program beside a plain parameter server: sums on the way up, copies of results on the way down."""

from switch_nodes.ps.program import PsProgram

__all__ = ["PsProgram"]
