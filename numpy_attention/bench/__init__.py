"""The benchmark: how fast attention is here, next to this machine's own matrix products and, where installed, PyTorch.

Times mean little by themselves, so everything that is compared runs alternately in one process, and what is reported
are medians, their spread and ratios.
"""
