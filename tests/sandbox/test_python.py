"""Programs that misbehave, each in both protections: what they may do differs, what they leave behind does not."""

import asyncio
import contextlib
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import uuid
from pathlib import Path

import pytest

from calipers.sandbox import Limits, Sandbox, SandboxError, launcher, run_python, run_python_sync
from calipers.sandbox.system_calls import system_call_filter

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the sandbox needs a POSIX system")

SHORT = Limits(seconds=0.5)
LONG = Limits(seconds=60)  # for programs that end otherwise: never reached


@pytest.fixture(scope="module")
def isolated():
    sandbox = Sandbox(require_isolation=True)
    try:
        sandbox.run_sync("")
    except SandboxError as error:
        pytest.skip(str(error))
    return sandbox


@pytest.fixture(params=["bubblewrap", "limits"])
def sandbox(request):
    return request.getfixturevalue("isolated") if request.param == "bubblewrap" else Sandbox(bubblewrap=None)


@pytest.fixture
def limited():
    return Sandbox(bubblewrap=None)


@pytest.fixture
def token():
    """A number of seconds to sleep that no other process sleeps."""
    return f"300.{uuid.uuid4().int}"


def carrying(token):
    """The living processes with this word on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if token.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


async def until_running(token, task):
    while not carrying(token):
        assert not task.done()
        await asyncio.sleep(0.005)


def open_files():
    """The files this process has open, but for the one that this reading opens."""
    return {path.name for path in Path("/proc/self/fd").iterdir() if path.exists()}


linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")

# Ends its first process only when the daemon runs /bin/sleep: the pipe is closed by a successful exec.
DAEMON = """
    import os
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(1), os.close(2)
            os.execve("/bin/sleep", ["sleep", "{token}"], {{}})
        os._exit(0)
    os.close(writer)
    os.read(reader, 1)
    os.wait()
"""


def program(text, **values):
    return textwrap.dedent(text).format(**values)


class TestEnds:
    @pytest.mark.parametrize(
        ("code", "exit_code"),
        [
            ("", 0),
            ("raise SystemExit", 0),
            ("import sys; sys.exit(7)", 7),
            ("exit(8)", 8),
            ("quit()", 0),
            ("import os; os._exit(9)", 9),
            ("raise SystemExit('said')", 1),
            ("import sys; sys.exit(137)", 137),
            ("raise ValueError", 1),
            ("x = (", 1),
            ("def f(): f()\nf()", 1),
            ("import os; os.close(1); os.close(2)", 0),
        ],
    )
    def test_an_exit_code_is_the_programs_own(self, sandbox, code, exit_code):
        outcome = sandbox.run_sync(code, limits=LONG)
        assert (outcome.exit_code, outcome.signal, outcome.stopped_by) == (exit_code, None, None)
        assert outcome.ok == (exit_code == 0)

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGXCPU])
    def test_a_signal_is_told_from_an_exit_code_and_from_a_limit(self, sandbox, number):
        outcome = sandbox.run_sync(f"import os; os.kill(os.getpid(), {number:d})", limits=LONG)
        assert (outcome.exit_code, outcome.signal, outcome.stopped_by) == (None, number, None)

    def test_a_signal_to_its_whole_process_group_ends_the_program_alone(self, sandbox):
        outcome = sandbox.run_sync("import os; os.kill(0, 9)", limits=LONG)
        assert (outcome.signal, outcome.stopped_by) == (signal.SIGKILL, None)

    def test_a_traceback_is_the_programs_own(self, sandbox):
        outcome = sandbox.run_sync("def f():\n    return 1 / 0\n\nf()\n")
        lines = outcome.stderr.splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert lines[1].endswith('main.py", line 4, in <module>')
        assert lines[2] == "    f()"
        assert lines[-1] == "ZeroDivisionError: division by zero"
        assert "<string>" not in outcome.stderr

    def test_a_syntax_error_shows_the_line_and_nothing_of_ours(self, sandbox):
        outcome = sandbox.run_sync("x = (")
        assert "Traceback" not in outcome.stderr
        assert "    x = (\n" in outcome.stderr
        assert "SyntaxError: '(' was never closed" in outcome.stderr

    def test_the_program_is_the_main_module(self, sandbox):
        code = """
            import __main__, sys, atexit, threading
            x = 1
            atexit.register(print, "at exit")
            print(__name__, __main__.x, __file__ == sys.argv[0], sys.flags.isolated)
            threading.Thread(target=lambda: print("thread")).start()
        """
        assert sandbox.run_sync(program(code)).stdout == "__main__ 1 True 1\nthread\nat exit\n"

    def test_the_standard_library_is_there_and_packages_are_not(self, sandbox):
        code = "import json, sqlite3, decimal, asyncio\ntry:\n    import msgspec\nexcept ImportError:\n    print('none')"
        assert sandbox.run_sync(code, limits=LONG).stdout == "none\n"

    def test_it_can_start_python_and_threads_and_processes(self, sandbox):
        code = """
            import multiprocessing, subprocess, sys
            print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(abs, [-1, -2]))
        """
        outcome = sandbox.run_sync(program(code), limits=LONG)
        assert outcome.stdout == "42\n\n[1, 2]\n", outcome.stderr


class TestInput:
    def test_stdin_is_read_to_its_end(self, sandbox):
        assert sandbox.run_sync("print(input()); print(input())", stdin="één\ntwo").stdout == "één\ntwo\n"

    def test_stdin_is_empty_unless_given(self, sandbox):
        assert sandbox.run_sync("import sys; print(repr(sys.stdin.read()))").stdout == "''\n"

    def test_the_standard_streams_open_by_name(self, sandbox):
        code = "print(open('/dev/stdin').read(), file=open('/dev/stdout', 'w'))"
        assert sandbox.run_sync(code, stdin="x").stdout == "x\n"

    def test_half_a_character_in_stdin_becomes_a_question_mark(self, sandbox):
        assert sandbox.run_sync("print(input())", stdin="a\ud800b").stdout == "a?b\n"

    def test_stdin_that_is_not_read_holds_nothing_up(self, sandbox):
        assert sandbox.run_sync("print(1)", stdin="x" * 5_000_000, limits=LONG).stdout == "1\n"

    def test_code_of_any_size_arrives(self, sandbox):
        code = f"x = {'y' * 3_000_000!r}\nprint(len(x))"
        assert sandbox.run_sync(code, limits=LONG).stdout == "3000000\n"

    @pytest.mark.parametrize("code", ["x = '\ud800'", "print(1)\0"])
    def test_text_that_is_no_program_fails_as_a_program(self, sandbox, code):
        outcome = sandbox.run_sync(code)
        assert outcome.exit_code == 1
        assert "Error" in outcome.stderr

    def test_an_encoding_cookie_does_not_change_text(self, sandbox):
        assert sandbox.run_sync("# coding: latin-1\nprint('é')").stdout == "é\n"

    @pytest.mark.parametrize("code", [b"print(1)", None, 5])
    def test_code_that_is_not_text_is_a_type_error(self, sandbox, code):
        with pytest.raises(TypeError, match=r"code must be a text, got"):
            sandbox.run_sync(code)

    def test_an_error_does_not_repeat_all_of_a_large_value(self):
        with pytest.raises(TypeError) as raised:
            run_python_sync(bytes(1_000_000))
        assert len(str(raised.value)) < 250

    def test_stdin_that_is_not_text_is_a_type_error(self, sandbox):
        with pytest.raises(TypeError, match="stdin must be a text, got b'x'"):
            sandbox.run_sync("", stdin=b"x")

    @linux
    def test_code_is_on_no_command_line(self, sandbox, token):
        code = f"import os, time\nprint(open('/proc/self/cmdline').read())  # {token}"
        outcome = sandbox.run_sync(code)
        assert outcome.ok
        assert token not in outcome.stdout


class TestOutput:
    @pytest.mark.parametrize("stream", ["stdout", "stderr"])
    @pytest.mark.parametrize(
        "code",
        ["while True: sys.{0}.write('x\\n')", "sys.{0}.write('x' * 10_000_000)"],
        ids=["endless lines", "one huge line"],
    )
    def test_too_much_output_stops_the_program_and_keeps_the_start(self, sandbox, stream, code):
        outcome = sandbox.run_sync(
            "import sys\n" + code.format(stream), limits=Limits(seconds=60, output_bytes=1000)
        )
        assert (outcome.stopped_by, outcome.output_truncated, outcome.ok) == ("output", True, False)
        assert len(getattr(outcome, stream)) == 1000

    def test_output_up_to_the_limit_is_kept_whole(self, sandbox):
        limits = Limits(output_bytes=1000)
        outcome = sandbox.run_sync(
            "import sys; sys.stdout.write('x' * 1000); sys.stderr.write('y' * 1000)", limits=limits
        )
        assert (outcome.stdout, outcome.stderr) == ("x" * 1000, "y" * 1000)
        assert outcome.ok

    def test_bytes_that_are_not_text_are_replaced(self, sandbox):
        outcome = sandbox.run_sync("import sys; sys.stdout.buffer.write(b'a\\x00\\xff\\xc3')")
        assert outcome.stdout == "a\0\ufffd\ufffd"

    def test_what_was_printed_before_a_kill_is_kept(self, sandbox):
        outcome = sandbox.run_sync("print('before')\nwhile True: pass", limits=SHORT)
        assert (outcome.stdout, outcome.stopped_by) == ("before\n", "time")


class TestLimits:
    @pytest.mark.parametrize(
        "code", ["while True: pass", "import time; time.sleep(100)", "import signal; signal.pause()"]
    )
    def test_time_runs_out(self, sandbox, code):
        outcome = sandbox.run_sync(code, limits=SHORT)
        assert (outcome.stopped_by, outcome.signal, outcome.exit_code) == ("time", signal.SIGKILL, None)
        assert outcome.duration >= SHORT.seconds

    @pytest.mark.parametrize("more", ["", "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"])
    def test_processor_time_runs_out(self, sandbox, more):
        outcome = sandbox.run_sync(f"{more}while True: pass", limits=Limits(seconds=60, cpu_seconds=1))
        assert outcome.stopped_by == "cpu"
        assert outcome.signal == (signal.SIGKILL if more else signal.SIGXCPU)

    def test_memory_runs_out(self, sandbox):
        outcome = sandbox.run_sync("x = bytearray(2 << 30)", limits=LONG)
        assert (outcome.stopped_by, outcome.exit_code) == ("memory", 1)
        assert "MemoryError" in outcome.stderr

    def test_a_program_that_handles_its_lack_of_memory_was_not_stopped(self, sandbox):
        code = "try:\n    x = bytearray(2 << 30)\nexcept MemoryError:\n    print('handled')"
        outcome = sandbox.run_sync(code, limits=LONG)
        assert (outcome.stdout, outcome.stopped_by) == ("handled\n", None)

    def test_a_huge_file_cannot_be_written(self, sandbox):
        code = """
            import os
            try:
                with open("huge", "wb") as file:
                    file.write(bytes(3 << 20))
            except OSError as error:
                print(error.strerror, os.path.getsize("huge"))
        """
        outcome = sandbox.run_sync(program(code), limits=LONG)
        assert outcome.stdout == f"File too large {1 << 20}\n"

    def test_files_together_cannot_fill_the_disk(self, isolated):
        code = """
            for folder in ("/tmp", "/dev/shm"):
                try:
                    for number in range(1000):
                        with open(f"{{folder}}/{{number}}", "wb") as file:
                            file.write(bytes(100_000))
                except OSError as error:
                    print(error.strerror, number < 11)
        """
        outcome = isolated.run_sync(program(code), limits=Limits(seconds=60, folder_bytes=1 << 20))
        assert outcome.stdout == "No space left on device True\n" * 2, outcome.stderr

    def test_open_files_run_out(self, sandbox):
        code = "files = []\ntry:\n    while True: files.append(open('/dev/null'))\nexcept OSError as e: print(e.errno, len(files))"
        assert sandbox.run_sync(code, limits=Limits(open_files=20)).stdout == "24 17\n"

    def test_a_fork_bomb_goes_out(self, sandbox):
        code = """
            import os, time
            children = 0
            try:
                for _ in range(300):
                    if os.fork() == 0:
                        time.sleep(100)
                    children += 1
            except BlockingIOError:
                print(children)
        """
        if "does not count" in (outcome := sandbox.run_sync("")).protection_note:
            pytest.skip(f"processes cannot be limited: {outcome.protection_note}")
        outcome = sandbox.run_sync(program(code), limits=Limits(seconds=60, processes=32))
        # Root gives each program a user of its own; a plain user's other processes come and go meanwhile.
        assert 0 < int(outcome.stdout) <= (31 if os.geteuid() == 0 else 200), outcome.stderr

    @pytest.mark.skipif(system_call_filter() is None, reason="no filter of system calls for this machine")
    def test_memory_outside_of_its_own_cannot_be_had(self, sandbox):
        code = """
            import ctypes, os
            system = ctypes.CDLL(None, use_errno=True)
            def refused(what, result):
                print(what, result, os.strerror(ctypes.get_errno()))
            size = ctypes.c_size_t(4 << 20)
            refused("shared memory", system.shmget(0, size, 0o1600))
            refused("a message queue", system.msgget(0, 0o1600))
            refused("semaphores", system.semget(0, 1, 0o1600))
            refused("a namespace", system.unshare(0x10020000))
            refused("another", system.syscall({clone}, ctypes.c_ulong(0x10000011), 0, 0, 0, 0))
            refused("a mount", system.mount(b"none", b"/tmp", b"tmpfs", 0, None))
            refused("a file system", system.syscall(430, b"tmpfs", 0))
        """
        clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
        outcome = sandbox.run_sync(program(code, clone=clone), limits=LONG)
        assert [line.split(" -1 ")[1:] for line in outcome.stdout.splitlines()] == [
            ["Operation not permitted"]
        ] * 7, outcome

    @pytest.mark.skipif(system_call_filter() is None, reason="no filter of system calls for this machine")
    def test_memory_of_the_kernel_is_bounded_by_the_open_files_and_the_buffers_of_the_system(self, sandbox):
        code = """
            import asyncio, ctypes, fcntl, os, socket
            system = ctypes.CDLL(None, use_errno=True)
            one, other = socket.socketpair()
            read, write = os.pipe()
            def raised(call, *arguments):
                if call(*arguments) == -1:
                    raise OSError(ctypes.get_errno(), "refused")
            for call in (
                lambda: os.memfd_create("a"),
                lambda: fcntl.fcntl(write, 1031, 1 << 20),
                *(lambda number=number: one.setsockopt(socket.SOL_SOCKET, number, 1 << 22) for number in (7, 8, 32, 33)),
                lambda: raised(system.syscall, {vmsplice}, write, None, 0, 0),
                lambda: raised(system.syscall, 425, 8, None),
                lambda: raised(system.syscall, {mq_open}, b"a", 0o102, 0o600, None),
                lambda: raised(system.syscall, 447, 0),
            ):
                try:
                    call()
                    print("allowed")
                except PermissionError:
                    print("refused")
            one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            fcntl.fcntl(write, fcntl.F_SETFL, os.O_NONBLOCK)
            asyncio.run(asyncio.sleep(0))
            held, kept = 0, []
            try:
                while True:
                    kept.append(socket.socketpair())
                    for each in kept[-1]:
                        each.setblocking(False)
                        try:
                            while True:
                                held += each.send(bytes(1 << 16))
                        except BlockingIOError:
                            pass
            except OSError:
                print(len(kept) > 10, held)
        """
        numbers = {"x86_64": (278, 240), "aarch64": (75, 180)}[platform.machine()]
        filled = program(code, vmsplice=numbers[0], mq_open=numbers[1])
        outcome = sandbox.run_sync(filled, limits=Limits(seconds=60, open_files=64))
        *refused, (filled_up, held) = [line.split() for line in outcome.stdout.splitlines()]
        assert refused == [["refused"]] * 10, outcome
        assert filled_up == "True"
        default = int(Path("/proc/sys/net/core/wmem_default").read_text(encoding="ascii"))
        assert 0 < int(held) <= 64 * default

    @pytest.mark.parametrize(("name", "value"), [("memory_bytes", 1), ("open_files", 1)])
    def test_a_limit_too_tight_to_start_in_is_a_failure_never_a_pass(self, sandbox, name, value):
        with contextlib.suppress(SandboxError):
            assert not sandbox.run_sync("import json", limits=Limits(seconds=60, **{name: value})).ok


class TestSecrets:
    def test_no_variable_of_the_caller_is_seen(self, sandbox):
        os.environ["CALIPERS_TEST_SECRET"] = "sesame"
        try:
            code = "import os; print(dict(os.environ)); os.system('cat /proc/self/environ')"
            outcome = sandbox.run_sync(code if sys.platform == "linux" else "import os; print(os.environ)")
        finally:
            del os.environ["CALIPERS_TEST_SECRET"]
        assert outcome.ok, outcome.stderr
        assert "'TZ': 'UTC'" in outcome.stdout
        assert "SECRET" not in outcome.stdout
        assert "sesame" not in outcome.stdout

    def test_no_open_file_of_the_caller_is_seen(self, sandbox, tmp_path):
        with (tmp_path / "open").open("w") as file:
            os.set_inheritable(file.fileno(), True)
            code = "import os\nfor fd in range(3, 400):\n    try: os.fstat(fd); print(fd)\n    except OSError: pass"
            outcome = sandbox.run_sync(code, limits=Limits(open_files=400))
        assert (outcome.stdout, outcome.exit_code) == ("", 0)

    def test_isolated_it_reads_no_file_of_the_caller(self, isolated, tmp_path):
        secret = tmp_path / "secret"
        secret.write_text("sesame")
        for path in (secret, Path(__file__), Path("/etc/passwd"), Path("/etc/shadow")):
            outcome = isolated.run_sync(f"print(open({str(path)!r}).read())")
            assert outcome.exit_code == 1
            assert outcome.stderr.splitlines()[-1].startswith("FileNotFoundError")

    def test_isolated_it_writes_only_to_private_folders(self, isolated, tmp_path):
        code = """
            import os, tempfile
            places = ["/", "/usr", "/usr/bin", "/dev", "/proc", {outside!r}, os.path.dirname(os.__file__)]
            for place in places:
                try:
                    open(os.path.join(place, "calipers-was-here"), "w")
                except OSError:
                    continue
                print("wrote to", place)
            open("/tmp/mine", "w"), tempfile.TemporaryFile()
        """
        outcome = isolated.run_sync(program(code, outside=str(tmp_path)))
        assert (outcome.stdout, outcome.stderr) == ("", "")
        assert not Path("/tmp/mine").exists()

    def test_isolated_it_sees_no_other_process(self, isolated):
        code = "import os; print(max(int(name) for name in os.listdir('/proc') if name.isdigit()) < 10)"
        assert isolated.run_sync(code).stdout == "True\n"

    def test_isolated_it_has_no_rights(self, isolated):
        code = "print([line.split()[1] for line in open('/proc/self/status') if line[:6] in ('CapEff', 'CapPrm', 'CapAmb')])"
        assert isolated.run_sync(code).stdout == f"{['0' * 16] * 3}\n"

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a program as another user")
    def test_started_by_root_it_is_another_user_in_no_group(self, isolated):
        groups = os.getgroups()
        os.setgroups([*groups, 4242])
        try:
            outcome = isolated.run_sync("import os; print(os.getresuid(), os.getresgid(), os.getgroups())")
        finally:
            os.setgroups(groups)
        user = outcome.stdout.partition(",")[0].removeprefix("(")
        assert int(user) >= 60_000
        assert outcome.stdout == f"({user}, {user}, {user}) ({user}, {user}, {user}) []\n"

    def test_only_isolation_closes_the_network(self, isolated, limited):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            code = f"import socket; socket.create_connection(('127.0.0.1', {port})).send(b'x')"
            outcome = isolated.run_sync(code)
            assert outcome.exit_code == 1
            assert outcome.stderr.splitlines()[-1].startswith(("ConnectionRefusedError", "OSError"))
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()
            # The same program in the other protection: that the listener can be reached gives the first half its worth.
            assert limited.run_sync(code).ok
            listener.settimeout(10)
            listener.accept()[0].close()

    def test_named_folders_can_be_imported_from(self, sandbox):
        code = "import helper; print(helper.VALUE)"
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)  # the program may run as another user
            Path(folder, "helper.py").write_text("VALUE = 42")
            for packages in ((folder,), (Path(folder),)):
                outcome = Sandbox(bubblewrap=sandbox.bubblewrap, packages=packages).run_sync(code)
                assert outcome.stdout == "42\n", outcome.stderr
        assert "ModuleNotFoundError" in sandbox.run_sync(code).stderr

    @pytest.mark.parametrize("folder", ["relative", "/no/such/folder"])
    def test_a_folder_that_cannot_be_imported_from_is_an_error(self, folder):
        with pytest.raises(SandboxError, match=f"packages names {folder!r}"):
            Sandbox(packages=(folder,)).run_sync("")


@linux
class TestLeavesNothing:
    def test_the_search_for_leftovers_finds_one(self, token):
        with subprocess.Popen(["sleep", token]) as process:
            try:
                while not carrying(token):
                    assert process.poll() is None
                assert carrying(token) == [process.pid]
            finally:
                process.kill()

    def test_a_daemon_ends_with_the_program(self, sandbox, token):
        outcome = sandbox.run_sync(program(DAEMON, token=token) + "print('up')", limits=LONG)
        assert (outcome.stdout, outcome.exit_code) == ("up\n", 0)
        assert carrying(token) == []

    def test_a_daemon_ends_when_time_runs_out(self, sandbox, token):
        outcome = sandbox.run_sync(
            program(DAEMON, token=token) + "print('up')\nwhile True: pass", limits=SHORT
        )
        assert (outcome.stdout, outcome.stopped_by) == ("up\n", "time")
        assert carrying(token) == []

    def test_a_daemon_ends_when_output_runs_over(self, sandbox, token):
        outcome = sandbox.run_sync(program(DAEMON, token=token) + "while True: print('up')", limits=LONG)
        assert outcome.stopped_by == "output"
        assert carrying(token) == []

    def test_a_process_that_forever_forks_and_exits_is_caught(self, sandbox, token):
        code = """
            import subprocess, sys
            hop = "import os; os.setsid(); print('running', flush=True)\\nwhile True:\\n    if os.fork(): os._exit(0)"
            subprocess.run([sys.executable, "-c", hop, "{token}"])
        """
        outcome = sandbox.run_sync(program(code, token=token), limits=LONG)
        assert (outcome.stdout, outcome.exit_code) == ("running\n", 0)
        assert carrying(token) == []

    def test_a_background_process_that_keeps_stdout_open_holds_nothing_up(self, sandbox, token):
        outcome = sandbox.run_sync(
            f"import subprocess; subprocess.Popen(['sleep', '{token}']); print(1)", limits=LONG
        )
        assert (outcome.stdout, outcome.exit_code) == ("1\n", 0)
        assert carrying(token) == []

    def test_a_program_that_turns_on_its_supervisor_does_not_pass_nor_live_on(self, sandbox, token):
        code = """
            import os, signal, time
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.execv("/bin/sleep", ["sleep", "{token}"])
                os._exit(0)
            os.wait()
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(100)
        """
        outcome = sandbox.run_sync(program(code, token=token), limits=SHORT)
        assert not outcome.ok
        if (
            sandbox.require_isolation or "user of its own" in outcome.protection_note
        ):  # out of the program's reach
            assert outcome.stopped_by == "time" or "PermissionError" in outcome.stderr
        else:
            assert outcome.stopped_by == "unknown"
        assert carrying(token) == []

    def test_no_other_signal_reaches_the_supervisor(self, limited):
        code = """
            import os, signal, time
            for number in signal.valid_signals() - {{signal.SIGKILL, signal.SIGSTOP}}:
                try:
                    os.kill(os.getppid(), number)
                except PermissionError:
                    pass
            time.sleep(0.05)
            exit(5)
        """
        outcome = limited.run_sync(program(code), limits=LONG)
        assert (outcome.exit_code, outcome.stopped_by) == (5, None)

    def test_a_process_out_of_reach_does_not_hold_the_caller_up(self, limited, token):
        code = """
            import os, signal, time
            reader, writer = os.pipe()
            if os.fork() == 0:
                os.setsid()
                os.execve("/bin/sleep", ["sleep", "{token}"], {{}})
            os.close(writer)
            os.read(reader, 1)
            os.kill(os.getppid(), signal.SIGKILL)
        """
        try:
            outcome = limited.run_sync(program(code, token=token), limits=LONG)
            assert outcome.stopped_by == "unknown" or "PermissionError" in outcome.stderr
        finally:
            for pid in carrying(token):
                os.kill(pid, signal.SIGKILL)

    def test_a_program_ends_with_the_process_that_started_it(self, sandbox, token, tmp_path):
        code = program(DAEMON, token=token) + "while True: pass"
        caller = f"""
            from calipers.sandbox import Limits, Sandbox
            Sandbox(bubblewrap={sandbox.bubblewrap!r}).run_sync({code!r}, limits=Limits(seconds=600))
        """
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        with subprocess.Popen([sys.executable, "-c", textwrap.dedent(caller)], env=environment) as process:
            while not carrying(token):
                assert process.poll() is None
            process.kill()
        deadline = time.monotonic() + 30
        while carrying(token) or any(tmp_path.iterdir()):
            assert time.monotonic() < deadline, "the program or its files outlived its caller"
            time.sleep(0.01)

    def test_its_folder_is_removed_whatever_it_holds(self, limited):
        code = """
            import os
            print(os.getcwd())
            os.makedirs("a/b/c")
            open("a/b/c/file", "w").close()
            os.symlink("/", "a/root")
            os.chmod("a/b", 0)
            os.chmod(".", 0)
        """
        outcome = limited.run_sync(program(code))
        assert outcome.ok, outcome.stderr
        folder = Path(outcome.stdout.strip())
        assert folder.name.startswith("calipers-sandbox-")
        assert not folder.exists()

    def test_no_file_stays_open_and_no_child_waits(self, sandbox):
        sandbox.run_sync("")
        files, children = open_files(), launcher.descendants(os.getpid())
        for code in ("", "1 / 0", "while True: print(1)"):
            sandbox.run_sync(code, limits=LONG)
        assert open_files() == files
        assert launcher.descendants(os.getpid()) == children


@linux
class TestCancellation:
    def test_a_cancelled_program_and_its_daemon_are_gone_before_the_caller_goes_on(self, sandbox, token):
        async def scenario():
            task = asyncio.create_task(
                sandbox.run(program(DAEMON, token=token) + "while True: pass", limits=LONG)
            )
            await until_running(token, task)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return carrying(token)

        assert asyncio.run(scenario()) == []

    def test_cancelling_again_does_not_cut_the_end_short(self, sandbox, token):
        async def scenario():
            task = asyncio.create_task(
                sandbox.run(program(DAEMON, token=token) + "while True: pass", limits=LONG)
            )
            await until_running(token, task)
            while not task.done():
                task.cancel()
                await asyncio.sleep(0)
            assert task.cancelled()
            return carrying(token)

        assert asyncio.run(scenario()) == []

    def test_a_timeout_around_it_works_as_everywhere(self, sandbox):
        async def scenario():
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await sandbox.run("while True: pass", limits=LONG)

        asyncio.run(scenario())

    def test_at_any_moment_it_leaves_nothing(self, sandbox):
        sandbox.run_sync("")
        files, children = open_files(), launcher.descendants(os.getpid())

        async def scenario(delay):
            task = asyncio.create_task(sandbox.run("import os\nos.fork()\nwhile True: pass", limits=LONG))
            await asyncio.sleep(delay)
            task.cancel()
            await asyncio.wait({task})
            assert task.cancelled()

        for step in range(16):
            asyncio.run(scenario(step * 0.004))
            assert launcher.descendants(os.getpid()) == children
        assert open_files() == files

    def test_a_loop_that_shuts_down_takes_its_programs_along(self, sandbox, token):
        async def scenario():
            task = asyncio.create_task(
                sandbox.run(program(DAEMON, token=token) + "while True: pass", limits=LONG)
            )
            await until_running(token, task)
            return task

        assert asyncio.run(scenario()).cancelled()
        assert carrying(token) == []


class TestCallers:
    def test_many_run_at_once(self, sandbox):
        async def many():
            return await asyncio.gather(*(sandbox.run(f"print({n})", limits=LONG) for n in range(50)))

        assert [outcome.stdout for outcome in asyncio.run(many())] == [f"{n}\n" for n in range(50)]

    def test_it_runs_from_another_thread(self, sandbox):
        outcomes = []
        thread = threading.Thread(target=lambda: outcomes.append(sandbox.run_sync("print(1)")))
        thread.start()
        thread.join()
        assert outcomes[0].stdout == "1\n"

    def test_the_sync_call_works_inside_a_running_loop(self, sandbox):
        async def caller():
            return sandbox.run_sync("print(1)")

        assert asyncio.run(caller()).stdout == "1\n"

    def test_a_caller_that_blocks_signals_does_not_hand_that_down(self, sandbox):
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGTERM])
        try:
            outcome = sandbox.run_sync("import signal; print(signal.pthread_sigmask(0, []))", limits=LONG)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        assert outcome.stdout == "set()\n", outcome.stderr

    @pytest.mark.parametrize("bubblewrap", ["bwrap", None])
    def test_a_caller_that_ignores_the_end_of_children_still_learns_it(self, bubblewrap):
        before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            code = "import os; print(os.wait()[1] if os.fork() else os._exit(3)); exit(4)"
            outcome = Sandbox(bubblewrap=bubblewrap).run_sync(code, limits=LONG)
        finally:
            signal.signal(signal.SIGCHLD, before)
        assert (outcome.stdout, outcome.exit_code, outcome.protection) == (f"{3 << 8}\n", 4, "limits")

    def test_a_program_that_was_never_reached_is_an_error_whatever_was_printed(self, isolated, tmp_path):
        """Bubblewrap that works in the trial and fails later, with more to say than the output limit."""
        script, used = tmp_path / "bwrap", tmp_path / "used"
        fail = 'echo "bwrap: out of luck" >&2; exit 1'
        script.write_text(f'#!/bin/sh\nif [ -e {used} ]; then {fail}; fi\ntouch {used}\nexec bwrap "$@"\n')
        script.chmod(0o755)
        with pytest.raises(SandboxError, match="could not be started: bwrap: out of"):
            Sandbox(bubblewrap=str(script)).run_sync("print(1)", limits=Limits(output_bytes=14))

    def test_the_short_forms_use_the_best_protection(self):
        assert run_python_sync("print(input())", stdin="1").stdout == "1\n"
        assert asyncio.run(run_python("print(1)", limits=SHORT)).protection == run_python_sync("").protection

    def test_the_short_forms_can_require_isolation(self, isolated):
        assert run_python_sync("print(1)", require_isolation=True).protection == "bubblewrap"
        assert asyncio.run(run_python("print(1)", require_isolation=True)).protection == "bubblewrap"

    def test_a_sandbox_is_a_value(self):
        assert Sandbox(bubblewrap=None) == Sandbox(bubblewrap=None)
        assert repr(Sandbox()) == "Sandbox(bubblewrap='bwrap', packages=(), require_isolation=False)"
