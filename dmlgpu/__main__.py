"""`python -m dmlgpu` is the command `dmlgpu`."""

import sys

from dmlgpu.cli import main

if __name__ == "__main__":
    sys.exit(main())
