"""Between a training process and the network: messages over a unix socket, gradients in shared memory. Standard library
alone, because it is loaded into the Python of whoever trains."""
