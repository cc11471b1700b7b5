"""What stands around a layer: nothing in here computes attention.

layer.py           the base of all layers: params, cache, grads, names
call_rules.py      what happens around every forward and backward
named_parts.py     parts of parts that go by names of their own
arguments.py       checks of numbers and sizes; shapes.py: of shapes that must fit; mask_and_bias.py: of masks
options.py         what a layer is told beside its arrays
lazy.py            tensors that are computed when somebody asks for them
row_blocks.py      the same function on a block of rows at a time; threads.py: how many threads a product may use
normal.py          the normal distribution, to the last digit; large_numbers.py: where squares do not fit
"""
