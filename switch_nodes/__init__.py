import workloads  # noqa: F401  # installs the finder of compiled modules
