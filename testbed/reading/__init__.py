"""Reading of files that people write: YAML with places, units, fields, and what is wrong with them."""
