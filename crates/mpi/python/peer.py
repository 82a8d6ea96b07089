"""Ranks in Python beside ranks in Rust: `mpirun -np 2 mixed : -np 2 python3 peer.py FINGERPRINT`.

`Collective` speaks the protocol of treedef_mpi's: the same checks, the same messages. The fingerprint says which
structure this program was written for; `mixed --fingerprint` prints it.
"""

import sys

import numpy
from mpi4py import MPI

SHARE = 1 << 16


class Collective:
    def __init__(self, communicator, fingerprint):
        self.communicator = communicator.Dup()
        self.fingerprint = int(fingerprint, 16)
        self.max_message = SHARE * self.communicator.size
        self.agree(self.fingerprint, "handshake")

    def code(self, report):
        """FNV-1a of the fingerprint and the text."""
        code = 0x6C62272E07BB014262B821756295C58D
        for byte in self.fingerprint.to_bytes(16, "little") + report.encode():
            code = (code ^ byte) * 0x1000000000000000000013B % (1 << 128)
        return code

    def agree(self, code, what):
        """Whether all ranks have the same code: the greatest of all and the least of all are equal."""
        halves = numpy.array([code & (1 << 64) - 1, code >> 64], dtype=numpy.uint64)
        mine = numpy.concatenate([halves, ~halves])
        most = numpy.empty_like(mine)
        self.communicator.Allreduce(mine, most, MPI.MAX)
        if (most[:2] != ~most[2:]).any():
            print(f"the ranks differ in {what}", file=sys.stderr)
            self.communicator.Abort(1)

    def call(self, what, *buffers, operation):
        """Reduces buffers in place: one for each kind of leaves, f32 first."""
        what = f"{what}, {self.max_message} numbers a message"
        self.agree(self.code(f"call\n{what}"), what)
        for buffer in buffers:
            for start in range(0, len(buffer), self.max_message):
                self.communicator.Allreduce(MPI.IN_PLACE, buffer[start : start + self.max_message], operation)

    def close(self):
        self.agree(self.code("left\n"), "leaving")


def main():
    world = MPI.COMM_WORLD
    collective = Collective(world, sys.argv[1])
    w = (world.rank * 100 + numpy.arange(6)).astype(numpy.float32) / 8
    b = numpy.array([world.rank + 0.5])
    flat = numpy.concatenate([w.astype(numpy.float64), b])
    collective.call("the sum of all leaves", w, b, operation=MPI.SUM)
    collective.call("the max of a flat buffer of f64", flat, operation=MPI.MAX)
    collective.close()
    print(*[f"{x:08x}" for x in w.view(numpy.uint32)], *[f"{x:016x}" for x in numpy.concatenate([b, flat]).view(numpy.uint64)])


main()
