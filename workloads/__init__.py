from workloads.native.compiled import install

install()
