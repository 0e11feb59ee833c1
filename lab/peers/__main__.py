"""`python3 -m lab.peers [--again] NAME...`: makes peers without the lab's environment, for scripts.

One line for each on standard output (path, name, version); what cannot be had is said on standard error, status 1.
"""

import sys

from lab.errors import LabError
from lab.peers import Step, get


def say(step: Step) -> None:
    """One line when a peer is begun or waited for."""
    if step.state == "waiting":
        print("hakmem: waiting for another run that makes peers", file=sys.stderr)
    elif step.state == "making" and step.fraction < 0.001:
        print(f"hakmem: making {step.name}", file=sys.stderr)


def main(words: list[str]) -> int:
    """Makes the peers of these names, all without a name; returns the exit status."""
    names = [word for word in words if word != "--again"]
    try:
        results = get(names or None, say, again="--again" in words)
    except LabError as error:
        print(error.text(), file=sys.stderr)
        return error.status
    for result in results:
        if result.allocator:
            print(result.allocator.path, result.allocator.name, result.allocator.version)
        else:
            print(f"hakmem: {result.name} cannot be had: {result.reason}\n  {result.fix}".rstrip(), file=sys.stderr)
    return 0 if all(result.allocator for result in results) else 1


try:
    sys.exit(main(sys.argv[1:]))
except KeyboardInterrupt:
    sys.exit(130)
