"""The letters at the end of the names of arrays.

r  resource          (cpu, memory, pods, then the others that some waiting pod asks for)
o  offer             something that can be bought: pool, type, offering, label choice
n  node              existing ones first, then new ones in the order they are opened
e  entity            offers, then existing nodes: whatever an expression can admit
g  group             pods alike in everything that scheduling can see
u  unit              a group, or the part of it that must go to one cell
c  cell              a combination of domains, one for each topology key in use
d  domain            a value of a topology key
h  host term         a constraint between pods on one node
z  zone term         a constraint between pods in one domain of a wider topology key
k  multiplier        a price vector over resources
l  class             units that the linear program need not tell apart
m  mask              a set of wishes: the entities that it admits
a  claim             a volume that several pods share
p  place             among the offers that are searched
s  shape             groups that multipliers need not tell apart
t  capped term       a host term of whose pods a node takes only so many
w  whole pods        a kind of cut: resource and k
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
Float = npt.NDArray[np.float64]

UNLIMITED = np.int64(2**60)
