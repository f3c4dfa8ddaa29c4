"""The options of commands whose modules take long to import: `tb COMMAND --help` imports these alone."""
