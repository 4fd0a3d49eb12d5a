"""One configuration of the kernels, with --config. Each is verified by --all-configs, in the tests *.trace."""
from support import call, program


def test_a_configuration_needs_no_shape():
    """Configurations that take only some N are not tried on the odd shapes before the default."""
    run = call(program("13_stream_k_cpu_trace"), "--config", "128x256-1x1x1", "--verify-only")
    assert run.returncode == 0 and "256 x 256 x 256" in run.stdout, run.stderr


def test_a_configuration_refuses_what_it_does_not_take():
    run = call(program("13_stream_k_cpu_trace"), "--config", "128x256-1x1x1", "-n", "258")
    assert run.returncode == 2 and "128x256-1x1x1" in run.stderr, run.stderr
