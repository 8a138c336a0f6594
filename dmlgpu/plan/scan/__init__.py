"""Scans: running sums and products along an axis.

The planner chooses a kernel and the number of passes. Kernels over lines are files in shaders/scan,
for which lines.py gives the parameters; a scan between layouts of any kind goes box by box
(boxes.py), by text that is written in the other box modules.
"""

from dmlgpu.plan.scan.planner import AxisScan, plan_counts

__all__ = ["AxisScan", "plan_counts"]
