"""What `tb strategies` does: the frontier of a chain's strategies, with each point measured over a fabric. It is shown
as a table, a plot, JSON and CSV."""

from testbed.strategies.measure import Fabric, Measured, devices_of, measured
from testbed.strategies.plot import plot_svg
from testbed.strategies.shown import Rows, to_csv, to_json

__all__ = ["Fabric", "Measured", "Rows", "devices_of", "measured", "plot_svg", "to_csv", "to_json"]
