"""The binomial tree between ranks."""
