"""The exercises, one file for each notebook."""
