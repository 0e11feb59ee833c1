"""`python -m lab COMMAND ...`: the same as `hakmem COMMAND ...` once the environment is there."""

import sys

from lab.cli import main

sys.exit(main())
