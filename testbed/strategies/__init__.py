"""What `tb strategies` does: the frontier of a chain's strategies, with each point measured over a fabric. It is shown
as a table, a plot, JSON and CSV."""

from testbed.strategies.measure import Measured, MeasuredFabric, devices_of, measured
from testbed.strategies.plot import plot_svg
from testbed.strategies.shown import StrategyRows, to_csv, to_json

__all__ = ["Measured", "MeasuredFabric", "StrategyRows", "devices_of", "measured", "plot_svg", "to_csv", "to_json"]
