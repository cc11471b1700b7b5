"""What a lecture on attention leaves out, each a small layer with its own backward."""
