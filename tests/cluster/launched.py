"""What the tests of several processes share: small runs, starting them under mpirun, comparing them."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = pathlib.Path(sys.argv[0]).name
STEPS = 50
LAUNCHERS = ("PMI", "OMPI", "SLURM", "MPI_", "HYD", "MV2_", "WORLD_SIZE", "LOCAL_WORLD_SIZE")


def fail(what, output=""):
    print(output, file=sys.stderr)
    sys.exit(f"{NAME}: {what}")


def skip(why):
    print(f"{NAME}: skipped, {why}")
    sys.exit(77)


def program_with_mpich():
    """The program, made absolute. Skips the test where it cannot run under MPICH."""
    program = pathlib.Path(sys.argv[1]).resolve()
    if not (program.parent.parent / "lib/hagane/libhagane_mpich.so").exists():
        skip("built without MPICH's headers")
    if shutil.which("mpirun.mpich") is None:
        skip("there is no mpirun.mpich")
    # A second's sleep: mpirun can die of SIGPIPE where a process ends before it got its input.
    launcher = subprocess.run(["mpirun.mpich", "-n", "2", "sleep", "1"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if launcher.returncode != 0:
        skip(f"mpirun.mpich starts nothing here: {launcher.stdout}")
    return program


def back_ends(program):
    """Values of --ddp_backend. Says which is left out."""
    if (program.parent.parent / "lib/hagane/libhagane_ccl.so").exists():
        return ["mpi", "ccl"]
    print(f"{NAME}: without oneCCL, which this build has not (scripts/setup --oneccl)")
    return ["mpi"]


def with_folder(test):
    """Calls `test` with a function that makes folders, all of which go at the end."""
    base = pathlib.Path(tempfile.mkdtemp(prefix="hagane-cluster-"))

    def folder(name):
        (base / name).mkdir()
        return base / name

    try:
        test(folder)
    finally:
        shutil.rmtree(base, ignore_errors=True)


# Updates of 12 rows on any number of processes.
BATCH = ("--global_train_batch_size", "12", "--per_device_train_batch_size", "12")
SMALL = ("--model_name_or_path", ROOT / "examples/tiny-bert", "--init_from_scratch")
TRAINING = (*SMALL, "--do_train", "--max_steps", STEPS, "--logging_steps", "1", "--learning_rate",
            "3e-4", "--save_steps", "20")
GLUE_FILES = ("--validation_file", ROOT / "examples/reviews/validation.csv", "--test_file",
              ROOT / "examples/reviews/test.csv")
QA_FILES = ("--validation_file", ROOT / "examples/questions/validation.json", "--test_file",
            ROOT / "examples/questions/test.json")


def words(*parts):
    return [str(part) for part in parts]


def glue(program, out, *more):
    """50 updates with dropout, then evaluation and prediction."""
    return words(program, "run_glue", *TRAINING, "--train_file", ROOT / "examples/reviews/train.csv",
                 *GLUE_FILES, "--do_eval", "--do_predict", "--per_device_eval_batch_size", "7",
                 "--no_cuda", "--output_dir", out, *more)


def qa(program, out, *more):
    """The same of questions, in windows that overlap."""
    return words(program, "run_qa", *TRAINING, "--train_file",
                 ROOT / "examples/questions/train.json", *QA_FILES, "--do_eval", "--do_predict",
                 "--max_seq_length", "64", "--doc_stride", "16", "--per_device_eval_batch_size", "5",
                 "--no_cuda", "--output_dir", out, *more)


def environment(work, **more):
    """Without the variables of a launcher that started the test itself."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    return {**plain, "HAGANE_CACHE": str(work / "cache"), "OMP_NUM_THREADS": "1", **more}


def alone(work, command, **more):
    done = subprocess.run(command, env=environment(work, **more), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        fail("one process failed", done.stdout)
    return done.stdout


class Launched:
    """mpirun with `ranks` processes; their process ids by rank."""

    def __init__(self, work, ranks, command, *options, **variables):
        self.log = open(work / "log", "w+")
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            ["mpirun.mpich", *options, "-n", str(ranks), *command], stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, env=environment(work, **variables),
            start_new_session=True)

    def output(self):
        return pathlib.Path(self.log.name).read_text()

    def wait_for(self, text):
        # No test with a clock: the limit only ends a test that would hang.
        self.wait_until(lambda: text in self.output(), f"said {text!r}")

    def wait_until(self, condition, what):
        for _ in range(1200):
            if condition() or self.process.poll() is not None:
                return
            time.sleep(0.1)
        self.end()
        fail(f"never {what}", self.output())

    def pids(self):
        """By rank."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                variables = (folder / "environ").read_bytes().split(b"\0")
                name = (folder / "comm").read_text().strip()
            except OSError:
                continue
            ranks = [int(v[9:]) for v in variables if v.startswith(b"PMI_RANK=")]
            if ranks and name == "hagane" and self.mine(folder):
                found[ranks[0]] = int(folder.name)
        return found

    def mine(self, folder):
        """mpirun's proxy starts a session of its own: by ancestors."""
        pid = int(folder.name)
        while pid > 1:
            if pid == self.process.pid:
                return True
            try:
                pid = int((pathlib.Path("/proc") / str(pid) / "stat").read_text()
                          .rsplit(")", 1)[1].split()[1])
            except OSError:
                return False
        return False

    def signal(self, rank, what):
        os.kill(self.pids()[rank], what)

    def end(self):
        for pid in self.pids().values():
            os.kill(pid, signal.SIGKILL)
        self.process.kill()

    def wait(self, seconds=120):
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.end()
            fail(f"did not end within {seconds} s", self.output())

    def must_end_well(self):
        if self.wait() != 0:
            fail("failed", self.output())
        return self.output()


def losses(work):
    state = json.loads((work / "out/trainer_state.json").read_text())
    return [entry["loss"] for entry in state["log_history"] if "loss" in entry]


def scores(work):
    results = json.loads((work / "out/all_results.json").read_text())
    return {name: value for name, value in results.items()
            if not name.endswith(("_runtime", "_per_second"))}


def expect_same_files(what, work, reference, names):
    for name in names:
        if (work / "out" / name).read_text() != (reference / "out" / name).read_text():
            fail(f"{what}: another {name}")


def expect_same(what, work, reference, predictions):
    """To rounding, which several processes do in another order."""
    mine, other = losses(work), losses(reference)
    if len(mine) != STEPS or len(other) != STEPS:
        fail(f"{what}: {len(mine)} losses instead of {STEPS}")
    for step, (a, b) in enumerate(zip(mine, other), 1):
        if abs(a - b) > 1e-5 * abs(b):
            fail(f"{what}: the loss of step {step} is {a} instead of {b}")
    if scores(work).keys() != scores(reference).keys():
        fail(f"{what}: other results, {sorted(scores(work))}")
    for name, value in scores(reference).items():
        if abs(scores(work)[name] - value) > 1e-5 * abs(value):
            fail(f"{what}: {name} is {scores(work)[name]} instead of {value}")
    expect_same_files(what, work, reference, predictions)
