"""Element-wise work: every output element is an expression of the input elements there.

The planner writes the kernel; operands that lie across the output come through workgroup memory
(across.py, and short_rows.py where rows are short), what an expression looks up through lookups.py,
and spans.py says which groups an invocation of a software adapter makes.
"""

from dmlgpu.plan.elementwise.planner import ElementWise

__all__ = ["ElementWise"]
