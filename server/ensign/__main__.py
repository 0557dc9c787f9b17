"""Pick a face: `ensign serve` speaks JSON-RPC to an editor, every other command speaks to a terminal."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """The console script."""
    # Start-up makes 100,000 objects that stay: looking for garbage among them every 700 costs a tenth of its time.
    gc.set_threshold(20_000, 20, 20)
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        return _serve(arguments[1:])
    from ensign.cli.main import main as command

    return command(arguments)


def _serve(arguments: list[str]) -> int:
    """`ensign serve [--stdio | --tcp PORT]`; both end the process."""
    from ensign.lsp.main import serve_stdio, serve_tcp

    if arguments in ([], ["--stdio"]):
        serve_stdio({})
    if len(arguments) == 2 and arguments[0] == "--tcp" and arguments[1].isdecimal():
        serve_tcp(int(arguments[1]), {})
    sys.stderr.write("usage: ensign serve [--stdio | --tcp PORT]\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
