"""Programs in C: made once, kept, and one line where they cannot be made."""

import os
import subprocess

import pytest

from chaos.core.errors import CapabilityError
from nemesis.c_program import HELP, CProgram


def program(folder, text):
    folder.mkdir(exist_ok=True)
    (folder / "main.c").write_text(text)
    return CProgram(name="seven", what="a program that ends with 7", sources=folder, on_host=".seven")


def at(tmp_path, **more):
    return {"CHAOS_CACHE": str(tmp_path / "cache"), "PATH": os.environ["PATH"]} | more


def test_it_is_made_once_and_again_where_its_sources_change(tmp_path):
    seven = program(tmp_path / "sources", "int main(void) { return 7; }")
    made = seven.made(at(tmp_path))
    assert subprocess.run([made], check=False).returncode == 7
    assert seven.made(at(tmp_path, PATH="")) == made, "no compiler is needed any more"
    eight = program(tmp_path / "sources", "int main(void) { return 8; }")
    assert subprocess.run([eight.made(at(tmp_path))], check=False).returncode == 8


def test_without_a_compiler_a_line_says_what_helps(tmp_path):
    seven = program(tmp_path / "sources", "int main(void) { return 7; }")
    with pytest.raises(CapabilityError) as refused:
        seven.made(at(tmp_path, PATH=""))
    assert str(refused.value) == f"no C compiler to make a program that ends with 7 with; {HELP}"


def test_what_the_compiler_says_is_told(tmp_path):
    broken = program(tmp_path / "sources", "int main(void) { return seven; }")
    with pytest.raises(
        CapabilityError, match=r"cannot make a program that ends with 7: .*seven.*undeclared.*; apt-get"
    ):
        broken.made(at(tmp_path))
    assert not list((tmp_path / "cache").rglob("seven"))
