"""The site that `tb docs` builds: reference pages made from the code, and what MkDocs asks while it builds."""
