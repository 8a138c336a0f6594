"""Moves: elements that come from one place and go to another, unchanged.

The planner chooses among kernels: units in registers (packed.py), and tiles through workgroup
memory (tile.py), whose text is in tile_code.py.
"""

from dmlgpu.plan.move.layout import SMALLER, Layout
from dmlgpu.plan.move.planner import Move

__all__ = ["SMALLER", "Layout", "Move"]
