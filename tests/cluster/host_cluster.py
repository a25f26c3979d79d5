"""A cluster of `hosts` for Python: comes up, runs mpirun with the guides' words, goes away."""
import os
import pathlib
import shutil
import subprocess
import time

from launched import environment, fail, skip

HOSTS = pathlib.Path(__file__).with_name("hosts")


def skip_where_not_permitted():
    check = subprocess.run([HOSTS, "check"], stdout=subprocess.PIPE, text=True)
    if check.returncode == 77:
        skip(check.stdout.strip().removeprefix("hosts: skipped, "))


class Cluster:
    """Used with `with`, so that it goes away whatever happens."""

    def __init__(self, folder, program, size):
        self.folder, self.program, self.size = folder, program, size

    def __enter__(self):
        up = subprocess.run([HOSTS, "up", self.folder, str(self.size)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if up.returncode != 0:
            self.__exit__()
            skip(f"hosts cannot be made here: {up.stdout.strip()}")
        # The names that people type.
        names = self.folder / "bin"
        names.mkdir()
        (names / "mpirun").write_text('#!/bin/sh\nexec mpirun.mpich "$@"\n')
        (names / "mpirun").chmod(0o755)
        (names / "hagane").symlink_to(self.program)
        return self

    def __exit__(self, *_):
        self.call("down")

    def call(self, command, *more):
        done = subprocess.run([HOSTS, command, self.folder, *map(str, more)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def environment(self, **more):
        """UCX would notice the common machine, and send nothing through the network."""
        return environment(self.folder, PATH=f"{self.folder}/bin:{os.environ['PATH']}", UCX_TLS="tcp",
                           HYDRA_LAUNCHER_EXEC=str(self.folder / "ssh"), **more)

    def start(self, log, *command, **variables):
        """From the first host."""
        return subprocess.Popen([HOSTS, "run", self.folder, "1", *map(str, command)],
                                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                env=self.environment(**variables))

    def bytes_sent(self):
        """By host."""
        return [int(self.call("bytes", i + 1)) for i in range(self.size)]

    def ranks_on(self, host):
        """Process ids of hagane on that host."""
        found = []
        for pid in self.call("pids", host).split():
            try:
                name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            except OSError:
                continue
            if name == "hagane":
                found.append(int(pid))
        return found

    def wait_until(self, condition, what, output):
        # No test with a clock: the limit only ends a test that would hang.
        for _ in range(900):
            if condition():
                return
            time.sleep(0.1)
        fail(f"never {what}", output())
