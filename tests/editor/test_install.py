"""A clean editor into which only the extension was installed: no setting, no key, a Python without any package."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.editor.product import Ensign
from tests.editor.settings import EditorOptions
from tests.editor.workbench import Workbench


@pytest.fixture(scope="module")
def editor_options(tmp_path_factory: pytest.TempPathFactory) -> EditorOptions:
    bare = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    return EditorOptions(settings={"ensign.server.python": ""}, env={"PATH": f"{bare}/bin:/usr/bin:/bin"})


async def test_the_server_makes_its_own_environment_once_and_answers_the_first_question(workbench: Workbench) -> None:
    await workbench.view_container("Ensign")
    await expect(workbench.toast("setting up its Python environment")).to_be_visible()
    await workbench.screenshots("making")
    ensign = await Ensign.shown(workbench)
    await expect(workbench.toast("setting up its Python environment")).to_have_count(0)
    await ensign.say("Where is `greet` defined?")
    await expect(ensign.answer(re.compile(r"main\.py:\d+"))).to_be_visible()
    await workbench.screenshots("answered")

    await workbench.load()
    await Ensign.shown(workbench)
    storage = workbench.editor.run / "user" / "User" / "globalStorage" / "ensign.ensign"
    (environment,) = storage.glob("python-*")
    assert re.fullmatch(r"python-3\.\d+-[0-9a-f]{12}", environment.name)
    (server,) = (line for line in workbench.editor.processes().values() if line.endswith("serve --stdio"))
    assert Path(server.split()[0]) == environment / "bin" / "python"
