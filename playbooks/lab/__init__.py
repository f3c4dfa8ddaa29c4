"""Steps of a lab as tasks of fabric."""
