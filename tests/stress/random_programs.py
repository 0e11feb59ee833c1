"""Random programs end well under the library: the first argument is the program, which makes one of each number.

SEED chooses the numbers (the first is SEED), so that a failure is repeated by its number.
"""

import os
import subprocess
import sys

COUNT = 24

failed = 0
first = int(os.environ.get("SEED", "0"))
for number in range(first, first + COUNT):
    environment = {**os.environ, "LD_PRELOAD": os.environ["TESTED_LIB"]}
    done = subprocess.run([sys.argv[1], str(number)], env=environment, capture_output=True, text=True, timeout=200)
    if done.returncode != 0 or done.stderr or len(done.stdout.split()) != 3:
        print(f"number {number}: ended with {done.returncode}: {done.stdout}{done.stderr}")
        failed += 1
sys.exit(failed != 0)
