# SPDX-License-Identifier: Apache-2.0
"""The families of candidates, in the order of forms.txt."""
from .arithmetic import bits, comparisons, conversions, integer, moves, reals
from .memory import atomics, copies, mbarriers, memory
from .warps import barriers, matrices, video, warps, wmma

FAMILIES = [integer, bits, reals, comparisons, conversions, moves, memory, atomics, warps, barriers, mbarriers, copies, matrices, wmma,
            video]
