"""Reductions: every output element combines input elements along some axes.

Accumulators say what is combined (accumulators.py), the division among invocations follows the
layout (division.py), and code.py writes the kernel; meeting.py joins segments of one line. Work on
lines in two steps, such as softmax, is in normalize.py, with two kernels that keep lines in
registers (whole_lines.py, short_lines.py).
"""

from dmlgpu.plan.reduce.planner import InTurn, Reduction

__all__ = ["InTurn", "Reduction"]
