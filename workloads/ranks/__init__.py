"""Between a training process and the network: messages over a unix socket, gradients in shared memory. Uses the
standard library alone, because the user's training process loads it."""
