"""What stands around a layer: nothing in here computes attention.

layer.py           the base of all layers: params, cache, grads, names
call_rules.py      what happens around every forward and backward
arguments.py       checks of what a caller hands in; mask_and_bias.py: of masks and biases
lazy.py            tensors that are computed when somebody asks for them
row_blocks.py      the same function on a block of rows at a time; threads.py: how many threads a matrix product may use
normal.py          the bell curve and the share below it, which NumPy lacks
"""
