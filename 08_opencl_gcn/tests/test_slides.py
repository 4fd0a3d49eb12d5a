"""--slides: the slides' own listings, and what each gives."""
from support import call, program, tool

TABLE = """\
39   39_vector_sum       1008      0       changes C
42   42_naive            1235      0       changes C
44   44_naive            1235      0       changes C
48   48_as_printed       4940   4933 changes nothing
48   48_corrected        4940      0       changes C
"""


def test_table():
    """On a device, and in Oclgrind, which has nothing to say."""
    command = program("08_opencl_gcn"), "--slides", "--verify-only"
    run = call(*command)
    assert run.returncode == 0 and run.stdout.endswith(TABLE), run.stdout + run.stderr
    run = call(tool("oclgrind"), "--data-races", "--uninitialized", *command)
    assert run.returncode == 0 and run.stdout.endswith(TABLE) and not run.stderr, run.stdout + run.stderr
