"""One configuration of a kernel, with --config. Each is verified by --all-configs, in the tests *.trace."""
from programs import described
from support import call, program


def test_each_configuration_of_fp32_has_large_indices():
    configs = described(program("fp32_cpu_trace"))["configs"]
    assert configs
    for config in configs:
        run = call(program("fp32_indices"), "--both-ends", "--config", config)
        assert not run.returncode, run.stderr
