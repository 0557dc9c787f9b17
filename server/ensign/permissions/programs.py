"""What is known of programs, as data: which options write, execute or read, and which programs run others.

A program that is not here is opaque: a rule that names it covers whatever it does. For one that is here, an allow rule
covers its reading; an option listed as `risky` asks unless the rule spells that option out.

Source: the manual pages of GNU coreutils 9, findutils 4.9, grep 3.8, sed 4.9, diffutils 3.8, ripgrep 14, fd 8, jq 1.7,
git 2.47; `--option` may be cut short wherever GNU getopt allows it.
"""

from __future__ import annotations

from ensign.protocol.value import frozen


def names(text: str) -> frozenset[str]:
    """A set of words, written as one text."""
    return frozenset(text.split())


@frozen
class Reader:
    """A program that reads the files it is given and prints.

    Attributes:
        risky: options that execute, or read a list of files from somewhere.
        writes: options whose value is a file that is written.
        values: short options that take a value as the next word.
        pattern: the first operand is no file, unless one of `given` stands for it.
        tree: options that make it read whole folders; `*` for always.
        lists: shows names alone; contents below a folder stay unread.
        pure: operands are no files at all.
        out: the operand at this place is written.
    """

    risky: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    values: str = ""
    pattern: bool = False
    given: tuple[str, ...] = ()
    tree: tuple[str, ...] = ()
    lists: bool = False
    pure: bool = False
    out: int | None = None


_GREP = Reader(
    values="eABCmfdD",
    pattern=True,
    given=("-e", "-f", "--regexp", "--file"),
    tree=("-r", "-R", "--recursive", "--dereference-recursive", "-d", "--directories"),
)
_PLAIN = Reader()
_PURE = Reader(pure=True)

READERS: dict[str, Reader] = {
    **dict.fromkeys(("cat", "tac", "nl", "rev", "cut", "paste", "join", "comm", "fold", "fmt", "expand"), _PLAIN),
    **dict.fromkeys(("unexpand", "column", "od", "hexdump", "strings", "cksum", "sum", "md5sum", "sha1sum"), _PLAIN),
    **dict.fromkeys(("sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "base32", "base64"), _PLAIN),
    **dict.fromkeys(("cmp", "readlink", "realpath", "tsort", "look", "nm", "size", "zcat", "bzcat", "xzcat"), _PLAIN),
    **dict.fromkeys(("head", "tail"), Reader(values="nc")),
    **dict.fromkeys(("echo", "basename", "dirname", "seq", "sleep", "whoami", "id", "uname", "nproc", "arch"), _PURE),
    **dict.fromkeys(
        ("tr", "expr", "which", "type", "groups", "tty", "uptime", "free", "pwd", "true", "false", ":"), _PURE
    ),
    **dict.fromkeys(("cal", "factor", "getconf", "locale", "logname", "users", "who", "w", "lsb_release"), _PURE),
    "printf": Reader(pure=True, risky=("-v",)),
    "test": Reader(lists=True, risky=("-v", "-R")),
    "[": Reader(lists=True, risky=("-v", "-R")),
    "[[": Reader(lists=True, risky=("-v", "-R")),
    "cd": Reader(lists=True),
    "ls": Reader(lists=True, values="IwT"),
    "dir": Reader(lists=True),
    "tree": Reader(lists=True, writes=("-o",), values="LPIHT"),
    "stat": Reader(lists=True, values="cf"),
    "du": Reader(lists=True, risky=("--files0-from",), values="dBt"),
    "df": Reader(lists=True),
    "wc": Reader(risky=("--files0-from",)),
    "file": Reader(
        risky=("-C", "--compile", "-z", "-Z", "--uncompress", "--uncompress-noreport", "-f", "--files-from")
    ),
    "date": Reader(pure=True, risky=("-s", "--set", "-f", "--file")),
    "hostname": Reader(pure=True, risky=("-F", "--file", "-b", "--boot")),
    "diff": Reader(risky=("-l", "--paginate"), tree=("-r", "--recursive"), values="xXUCIFW"),
    "sdiff": Reader(writes=("-o", "--output"), risky=("--diff-program",)),
    "sort": Reader(
        writes=("-o", "--output"),
        risky=("--compress-program", "--files0-from", "-T", "--temporary-directory"),
        values="ktS",
    ),
    "uniq": Reader(values="fsw", out=1),
    "shuf": Reader(writes=("-o", "--output"), values="in"),
    "xxd": Reader(values="cglosRn", out=1),
    "iconv": Reader(writes=("-o", "--output"), values="ft"),
    "jq": Reader(pattern=True, values="fL", given=("-f", "--from-file")),
    "yq": Reader(pattern=True, risky=("-i", "--inplace", "-s", "--split-exp")),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "zgrep": Reader(pattern=True, values="eABCm"),
    "rg": Reader(
        risky=("--pre", "--hostname-bin", "-z", "--search-zip"),
        values="eABCmfgtTjMrEd",
        pattern=True,
        given=("-e", "-f", "--regexp", "--file", "--files", "--type-list"),
        tree=("*",),
    ),
    "fd": Reader(
        lists=True,
        pattern=True,
        risky=("-x", "--exec", "-X", "--exec-batch", "-l", "--list-details"),
        values="eEtdcSjg",
    ),
    "fdfind": Reader(
        lists=True,
        pattern=True,
        risky=("-x", "--exec", "-X", "--exec-batch", "-l", "--list-details"),
        values="eEtdcSjg",
    ),
    "ps": _PURE,
    "awk": _PLAIN,
    "gawk": _PLAIN,
    "mawk": _PLAIN,
    "nawk": _PLAIN,
    "sed": _PLAIN,
    "gsed": _PLAIN,
    "find": _PLAIN,
    "git": _PLAIN,
}

NO_RULE_NEEDED = frozenset(("true", "false", ":", "cd", "exit", "break", "continue", "return"))
"""Builtins that do nothing but steer the line they stand in; `cd` inside the workspace."""

VERSION_ONLY = names(
    "node npm npx yarn pnpm bun deno python python3 pip pip3 uv poetry cargo rustc rustup go java javac mvn "
    "gradle dotnet ruby gem bundle php composer docker kubectl helm terraform make cmake gcc g++ clang git gh jq "
    "rg fd tsc eslint prettier ruff mypy pytest black tox curl wget"
)
"""Programs of which `--version` is known to print and nothing else."""

WRITERS: dict[str, str] = {
    **dict.fromkeys(("touch", "mkdir", "rmdir", "tee", "truncate", "rm", "unlink", "shred", "mkfifo", "mknod"), "all"),
    **dict.fromkeys(("chmod", "chown", "chgrp"), "rest"),
    **dict.fromkeys(("cp", "install", "rsync", "scp"), "last"),
    **dict.fromkeys(("mv", "ln"), "all"),
    "dd": "of=",
    "patch": "all",
}
"""Programs that write by nature: which operands. A rule that names one covers its writing inside the workspace."""

TARGET_OPTIONS = ("-t", "--target-directory", "-o", "--output", "-O", "--output-document", "-d", "--directory", "-C")
"""Options of writers and downloaders whose value is where they write."""

RECURSIVE = {"rm": "rR", "cp": "rRa", "chmod": "R", "chown": "R", "chgrp": "R", "rsync": "ra", "scp": "r"}

OPAQUE_BUILTINS = names(
    "alias unalias source . trap enable hash bind complete compgen compopt declare typeset local export readonly "
    "unset let read mapfile readarray shopt set getopts wait fc caller dirs pushd popd umask ulimit logout disown"
)
"""Builtins that change the shell itself: they void what is known of the commands after them."""

REDEFINING = frozenset(("alias", "enable", "hash", "bind", "complete", "compgen", "shopt", "set"))
"""Those after which a name may run something else, or words expand differently."""

SAFE_VARIABLES = names(
    "CI NODE_ENV LANG LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE "
    "COLUMNS LINES TERM DEBUG RUST_LOG RUST_BACKTRACE PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED "
    "PYTHONIOENCODING PYTHONUTF8 GOOS GOARCH CGO_ENABLED GOFLAGS_UNSET RAILS_ENV RACK_ENV APP_ENV FLASK_ENV "
    "DJANGO_DEBUG VERBOSE PORT HOST LOG_LEVEL UPDATE_SNAPSHOTS SKIP_SLOW TEST_TIMEOUT"
) - {"GOFLAGS_UNSET"}
"""Variables that may be set before a command without a rule that says so: none selects code, a file or an address."""


INTERPRETERS = names(
    "python python2 python3 pypy pypy3 node nodejs deno bun ruby perl php lua luajit tclsh wish Rscript julia "
    "osascript java scala groovy elixir erl ghci irb ipython awk gawk mawk sh bash dash zsh ksh fish"
)
"""Programs whose argument is a program: no prefix is ever suggested for them."""

PREFIXES: dict[str, int] = {
    **dict.fromkeys(
        ("git", "cargo", "go", "make", "just", "task", "docker", "kubectl", "helm", "terraform", "dotnet"), 2
    ),
    **dict.fromkeys(("gradle", "./gradlew", "mvn", "./mvnw", "bazel", "rake", "mix", "composer", "gh", "cmake"), 2),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun", "uv", "poetry", "pipenv", "hatch", "deno"), 2),
    **dict.fromkeys(("pytest", "tox", "nox", "mypy", "ruff", "black", "isort", "flake8", "pylint", "eslint", "tsc"), 1),
    **dict.fromkeys(("prettier", "jest", "vitest", "mocha", "rspec", "rubocop", "phpunit", "ctest", "basedpyright"), 1),
    **dict.fromkeys(("ls", "cat", "head", "tail", "wc", "grep", "rg", "find", "fd", "tree", "stat", "diff", "sort"), 1),
    **dict.fromkeys(("uniq", "cut", "du", "df", "file", "jq", "sed", "pwd", "which", "date", "ps", "echo"), 1),
}
"""How many words a suggested prefix rule keeps, for programs where the rest does not change the kind of action."""

RUN_WORDS = frozenset(("npm", "yarn", "pnpm", "bun", "uv", "poetry", "pipenv", "hatch", "deno"))
"""For these `run NAME` keeps a third word."""

EXACT_ONLY: dict[str, frozenset[str]] = {
    "git": names("push clean reset config filter-branch submodule bisect rebase remote restore checkout clone"),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), names("exec x dlx install i add remove config set")),
    **dict.fromkeys(("uv", "poetry", "pipenv", "hatch", "pip", "composer"), names("add install pip tool")),
    **dict.fromkeys(("docker", "kubectl", "helm", "terraform"), names("run exec apply install upgrade cp")),
    "go": frozenset(("get", "install", "env", "generate")),
    "cargo": frozenset(("add", "install")),
    "gh": frozenset(("api", "auth", "secret", "ssh-key", "extension", "alias")),
    "deno": frozenset(("eval", "install")),
}
"""Sub-commands whose further words change the kind of action: only the very command is suggested."""


TREACHEROUS: dict[str, tuple[str, ...]] = {
    "tar": (
        "--to-command",
        "--checkpoint-action",
        "-I",
        "--use-compress-program",
        "--rsh-command",
        "-F",
        "--info-script",
        "--new-volume-script",
        "--rmt-command",
    ),
    "zip": ("-TT", "--unzip-command", "-T"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "scp": ("-S", "-o"),
    "ssh": ("-o", "-F"),
    "curl": ("-K", "--config", "-T", "--upload-file"),
    "wget": ("--use-askpass", "--post-file", "-e", "--execute", "--config", "-i", "--input-file"),
    "go": ("-exec", "-toolexec", "-overlay"),
    "cargo": ("--config",),
    "npm": ("--script-shell", "--userconfig", "--globalconfig", "--node-options"),
    "pip": ("--index-url", "-i", "--extra-index-url", "--trusted-host"),
    "make": ("SHELL=", "--eval", "MAKEFLAGS="),
    "man": ("-P", "--pager", "-H", "--html"),
    "less": ("-o", "-O", "--log-file", "+"),
    "vim": ("-c", "+", "-S", "-s"),
    "ctags": ("--options",),
    "gcc": ("-wrapper", "-fplugin", "-B", "-specs"),
    "docker": ("-v", "--volume", "--mount", "--privileged", "--pid", "-H", "--host"),
}
"""Options of programs that are otherwise opaque and that people often allow whole: each needs a rule that names it."""
