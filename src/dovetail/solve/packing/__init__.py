"""Packing: whole nodes for whole pods.

In: `Encoded` and `Values`. Out: an `Attempt`: nodes with their offers, and how many pods of each
unit are on them. `bulk` makes one plan, `pack` opens and fills nodes, `bins` knows what is free.

Read first: `bulk`, `pack`, `bins`.
"""
