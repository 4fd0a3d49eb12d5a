"""./test: builds and installs what the chosen tests need, and runs them with ctest."""
import build
import packages
import process
import run_user_kernel
from build import BUILD
from command_line import Parser, count, refuse, sources
from process import fail
from programs import listed, meant

FLAGS = ("-N -V -VV -Q --progress --rerun-failed --stop-on-failure --schedule-random --print-labels "
         "--output-on-failure")  # options of ctest
OPTIONS = "-R -E -L -LE -I --repeat --output-junit"


def chosen_tests(options):
    """The names of these tests, and the targets and packages that each needs, read from NEEDS in the test's ENVIRONMENT
    property."""
    needs = {}
    for test in build.tests_of_ctest(options):
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
        needs[test["name"]] = environment.get("NEEDS", "").split()
    return needs


def pattern_of(words):
    """A regular expression for the names of the tests of chapters, or of programs such as 04/1."""
    patterns = []
    for word in words:
        its = [each for each in listed() if meant(word, each.chapter, each.source.stem)]
        if not its:
            refuse("", word, sources())
        patterns += [f"{each.test}[.][^.]*$" for each in its] if "/" in word else [its[0].chapter[:3]]
    return f"^({'|'.join(dict.fromkeys(patterns))})"


def ctest_options(given):
    """The options for ctest."""
    options = []
    for name, value in vars(given).items():
        if value and name not in ("all", "chapters"):
            options.append(f"-{name}" if len(name) < 3 else "--" + name.replace("_", "-"))
            if value is not True:
                options.append(str(value))
    if given.chapters:
        options += ["-R", pattern_of(given.chapters)]
    return options


def prepare(options):
    """Builds and installs what these tests need. Tests that lack a package are skipped."""
    wanted = {each for its in chosen_tests(options).values() for each in its}
    its_packages = sorted(wanted & packages.PACKAGES.keys())
    if packages.missing_of(its_packages):
        packages.need((), optional=its_packages)
        build.configure(tests=True)
        wanted = {each for its in chosen_tests(options).values() for each in its}
    targets = sorted(wanted - packages.PACKAGES.keys())
    build.build(targets or ["harness_host"])  # the build takes at least one target


def run(words):
    process.command = "test"
    if words and words[0].endswith(".cu"):
        return run_user_kernel.test(words)
    parser = Parser("", f"--all {FLAGS}", OPTIONS)
    for option in ("-j", "--timeout"):
        parser.add_argument(option, type=count(10**6))
    parser.add_argument("chapters", nargs="*")
    given = parser.parse_args(words)  # exits at unknown options, which ctest would ignore
    process.verbose = given.V or given.VV
    if given.chapters and given.R:
        fail(2, "takes chapters, such as 03 04, or -R REGEX, not both")
    options = ctest_options(given)
    every = given.all or given.chapters or given.rerun_failed or given.R or given.L or given.LE or given.I
    if not every:
        options += ["-LE", "thorough"]
    packages.find_opencl()
    build.configure(tests=True)
    tests = chosen_tests(options)
    if not tests:
        fail(2, "no test has such a name; ./test -N lists those of ./test, ./test --all -N lists all")
    if given.N:  # ctest would also print which of its programs are not built
        print(*tests, f"{len(tests)} tests", sep="\n")
        return 0
    prepare(options)
    command = ["ctest", "--test-dir", BUILD, "--output-on-failure", "--no-tests=error", f"-j{build.CORES}"]
    code = process.call([*command, *options])
    if not every:
        print("Not run: injected faults, exercises, the builds with nvcc and the checks of the texts; "
              "run ./test --all, or ./test 03 for all of a chapter")
    return code
