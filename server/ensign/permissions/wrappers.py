"""Programs that run other programs, as data: which of their words are the command they run."""

from __future__ import annotations

from ensign.protocol.value import frozen


@frozen
class Wrapper:
    """A program that runs the command given to it.

    Attributes:
        values: its options that take a value as the next word, long ones included.
        flags: its other options; an option in neither list makes the inner command doubtful.
        operands: words between the options and the command.
        open: does more than run it (other user, other machine, other root): needs a rule of its own as well.
        script: options whose value is a shell line.
        variables: `NAME=value` words before the command set its environment.
        appends: more words, unknown now, are added to the command.
        joins: the words are joined into a shell line.
        unsure: where the command begins depends on more than this table says.
    """

    values: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    operands: int = 0
    open: bool = False
    script: tuple[str, ...] = ()
    variables: bool = False
    appends: bool = False
    joins: bool = False
    unsure: bool = False


_SU = Wrapper(
    open=True,
    script=("-c", "--command"),
    values=("-s", "--shell", "-g", "-G", "-w", "-u", "--user"),
    flags=("-", "-l", "--login", "-m", "-p", "-f"),
    operands=1,
)
WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper(
        values=("-u", "--unset"),
        flags=("-i", "-0", "-v", "-", "--ignore-environment", "--null", "--debug"),
        script=("-S", "--split-string"),
        variables=True,
    ),
    "sudo": Wrapper(
        open=True,
        variables=True,
        values=(
            "-u",
            "-g",
            "-h",
            "-p",
            "-C",
            "-D",
            "-R",
            "-T",
            "-U",
            "-r",
            "-t",
            "--user",
            "--group",
            "--host",
            "--prompt",
            "--chdir",
            "--chroot",
        ),
        flags=("-n", "-S", "-k", "-E", "-H", "-b", "-i", "-s", "-A", "-K", "-P", "--non-interactive"),
    ),
    "doas": Wrapper(open=True, values=("-u", "-C"), flags=("-n", "-s", "-L")),
    "pkexec": Wrapper(open=True, values=("--user",)),
    "nice": Wrapper(values=("-n", "--adjustment")),
    "ionice": Wrapper(values=("-c", "-n", "--class", "--classdata"), flags=("-t",)),
    "chrt": Wrapper(flags=("-b", "-f", "-i", "-o", "-r"), operands=1),
    "taskset": Wrapper(flags=("-c", "--cpu-list"), operands=1),
    "numactl": Wrapper(open=True, values=("-N", "-m", "-C", "-i")),
    "timeout": Wrapper(
        values=("-s", "-k", "--signal", "--kill-after"),
        flags=("--preserve-status", "--foreground", "-v", "--verbose", "-f", "-p"),
        operands=1,
    ),
    "gtimeout": Wrapper(values=("-s", "-k"), flags=("--foreground",), operands=1),
    "stdbuf": Wrapper(values=("-i", "-o", "-e", "--input", "--output", "--error")),
    "setsid": Wrapper(flags=("-c", "-f", "-w", "--fork", "--wait", "--ctty")),
    "nohup": Wrapper(),
    "time": Wrapper(flags=("-p", "-v", "-a"), values=("-f", "--format")),
    "command": Wrapper(flags=("-p",)),
    "builtin": Wrapper(),
    "exec": Wrapper(values=("-a",), flags=("-l", "-c")),
    "coproc": Wrapper(open=True),
    "xargs": Wrapper(
        values=(
            "-n",
            "-P",
            "-I",
            "-L",
            "-d",
            "-s",
            "-E",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--replace",
            "--max-lines",
        ),
        flags=("-0", "-r", "-t", "-x", "--null", "--no-run-if-empty"),
        appends=True,
    ),
    "watch": Wrapper(values=("-n", "--interval"), flags=("-d", "-t", "-b", "-e", "-g", "-c", "-p", "-x"), joins=True),
    "parallel": Wrapper(open=True, appends=True, joins=True, values=("-j", "--jobs", "-a", "-I")),
    "flock": Wrapper(
        open=True,
        script=("-c", "--command"),
        values=("-w", "-E", "--timeout"),
        flags=("-n", "-x", "-s", "-u", "-o", "-e"),
        operands=1,
    ),
    "script": Wrapper(open=True, script=("-c", "--command"), flags=("-q", "-a", "-e", "-f")),
    "su": _SU,
    "runuser": _SU,
    "chroot": Wrapper(open=True, operands=1, values=("--userspec", "--groups")),
    "unshare": Wrapper(
        open=True, unsure=True, flags=("-r", "-n", "-m", "-u", "-i", "-p", "-U", "-f", "--fork", "--net")
    ),
    "nsenter": Wrapper(
        open=True, unsure=True, values=("-t", "--target"), flags=("-a", "-m", "-u", "-i", "-n", "-p", "--all")
    ),
    "systemd-run": Wrapper(
        open=True, unsure=True, values=("-p", "-u", "--unit"), flags=("--user", "--scope", "-t", "-P", "--pty")
    ),
    "bwrap": Wrapper(open=True, unsure=True),
    "firejail": Wrapper(open=True, unsure=True),
    "strace": Wrapper(open=True, values=("-e", "-o", "-p", "-s"), flags=("-f", "-q", "-c", "-y", "-tt")),
    "ltrace": Wrapper(open=True, values=("-e", "-o"), flags=("-f", "-S", "-c")),
    "valgrind": Wrapper(open=True, unsure=True),
    "gdb": Wrapper(open=True, unsure=True, flags=("--args", "-q", "--batch"), values=("-ex", "-x")),
    "fakeroot": Wrapper(open=True),
    "unbuffer": Wrapper(flags=("-p",)),
    "chronic": Wrapper(flags=("-v", "-e")),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "ssh": Wrapper(
        open=True,
        joins=True,
        operands=1,
        values=("-i", "-l", "-p", "-o", "-F", "-J", "-L", "-R", "-D"),
        flags=("-t", "-T", "-n", "-N", "-f", "-q", "-v", "-A", "-4", "-6"),
    ),
    "xvfb-run": Wrapper(open=True, flags=("-a", "--auto-servernum"), values=("-s", "-n", "--server-args")),
    "dbus-run-session": Wrapper(open=True, flags=("--",)),
    "caffeinate": Wrapper(flags=("-d", "-i", "-m", "-s", "-u"), values=("-t", "-w")),
    "arch": Wrapper(flags=("-x86_64", "-arm64")),
    "setarch": Wrapper(unsure=True, flags=("-R",)),
    "setpriv": Wrapper(open=True, unsure=True, values=("--reuid", "--regid"), flags=("--no-new-privs",)),
    "prlimit": Wrapper(open=True, unsure=True),
    "cpulimit": Wrapper(open=True, values=("-l", "-p")),
    "faketime": Wrapper(open=True, operands=1),
    "proxychains4": Wrapper(open=True, values=("-f",), flags=("-q",)),
    "torsocks": Wrapper(open=True),
    "entr": Wrapper(open=True, flags=("-c", "-r", "-n", "-s", "-d", "-p", "-z"), appends=True),
    "tmux": Wrapper(open=True, unsure=True, operands=1, flags=("-d",), values=("-s", "-n", "-c", "-t"), joins=True),
    "screen": Wrapper(open=True, unsure=True, flags=("-d", "-m", "-dm", "-D"), values=("-S",)),
}

RUNNERS: dict[str, tuple[str, ...]] = {
    "uv": ("run",),
    "poetry": ("run",),
    "pipenv": ("run",),
    "hatch": ("run",),
    "pdm": ("run",),
    "rye": ("run",),
    "npm": ("exec", "x"),
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "dlx"),
    "bundle": ("exec",),
    "mise": ("exec", "x"),
    "asdf": ("exec",),
    "direnv": ("exec",),
    "conda": ("run",),
    "git": ("bisect", "foreach"),
    "rustup": ("run",),
    "docker": ("exec", "run"),
    "podman": ("exec", "run"),
    "kubectl": ("exec",),
    "nix": ("run", "shell", "develop"),
    "npx": (),
    "bunx": (),
    "pipx": ("run",),
    "uvx": (),
}
"""Programs with a sub-command that runs others: what follows is held against deny and ask rules too."""

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh", "pwsh"))
