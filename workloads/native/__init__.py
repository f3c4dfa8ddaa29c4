"""The C core: optional compiled fast paths. Without a compiler the Python reference runs, bit for bit the same.

`workloads.native.build` says how to add one.
"""
