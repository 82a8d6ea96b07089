"""The structures of logs that one machine does not hold: counted where the parts are, and added up.

    python dask_shapes.py 'logs/*.jsonl.gz'

Each worker of a Dask cluster runs `treedef shapes PART --save -`, which prints its counts as one line of JSON. What is
added up is as large as the distinct structures are, however many lines there are.
"""

import glob
import subprocess
import sys

from dask.distributed import Client


def count(part, *options):
    """The counts of one part, as a line. Lines that cannot be read are in the counts, too."""
    run = subprocess.run(
        ["treedef", "shapes", part, "--save", "-", *options], capture_output=True, text=True
    )
    if run.returncode > 1:
        raise RuntimeError(run.stderr)
    return run.stdout


def show(counts, *options):
    """What `treedef shapes` says of all parts."""
    run = subprocess.run(
        ["treedef", "shapes", *options], input="".join(counts), capture_output=True, text=True
    )
    if run.returncode > 1:
        raise RuntimeError(run.stderr)
    return run.stdout


def main(pattern, *options):
    parts = sorted(glob.glob(pattern))
    # A cluster elsewhere has an address: Client("tcp://scheduler:8786").
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        counts = client.gather(client.map(lambda part: count(part, "--fold-lengths"), parts))
    return show(counts, *options)


if __name__ == "__main__":
    print(main(*sys.argv[1:]), end="")
