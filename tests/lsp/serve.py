"""`ensign serve` over the fake runtime, as a process: `python -m tests.lsp.serve [PORT]`."""

import sys

from ensign.lsp.main import serve_stdio, serve_tcp
from tests.lsp.fake import Builder

if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve_tcp(int(sys.argv[1]), {}, build=Builder())
    serve_stdio({}, build=Builder())
