"""Commands of the same user cannot read the keys in the environment of whoever started them."""

import subprocess
import sys
from pathlib import Path

SERVER = Path(__file__).parents[2] / "server"
# All imports come first: whoever it becomes may not be able to read Python's files.
SCRIPT = """
import asyncio, concurrent.futures.thread, ctypes, os, subprocess
from pathlib import Path
from ensign.workspace.processes import Command, Processes

LOOK = "grep -azqs ^OPENAI_API_KEY= /proc/$PPID/environ && echo seen || echo hidden; wc -c < /proc/$$/environ"

async def main():
    processes = Processes({"PATH": os.defpath})
    command = Command(line=LOOK, cwd=Path("/"), agent_id="a", timeout_s=20, output=Path("/nowhere"))
    result = await processes.run(command)
    await processes.close()
    return result.output.text

if os.getuid() == 0:  # root reads everything: be somebody else, and as open as a process is by itself
    os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
before = subprocess.run(["sh", "-c", LOOK], capture_output=True, text=True, env={"PATH": os.defpath}).stdout
print(before.split()[0], *asyncio.run(main()).split())
"""


def test_a_command_does_not_read_our_environment() -> None:
    environment = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-secret", "PYTHONPATH": str(SERVER)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    before, then, own_bytes = done.stdout.split()
    assert (before, then) == ("seen", "hidden")
    assert int(own_bytes) > 0, "a command reads its own"
