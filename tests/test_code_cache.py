"""Machine code on disk: what is written is read again, and nothing that somebody else could have written is."""

import ctypes
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from dwarfgpu import code_cache
from dwarfgpu.code_cache import CodeCache
from tests.builders.commands import run
from tests.builders.native import compiled

ROOT = Path(__file__).resolve().parents[3]
KEY, OTHER = b"\1" * 32, b"\2" * 32
TEXT = "define i64 @f(ptr %cells) {\n %x = load i64, ptr %cells\n %y = mul i64 %x, 3\n ret i64 %y\n}\n"


@pytest.fixture
def cache(tmp_path):
    return CodeCache(tmp_path / "cache" / "dwarfgpu" / "blocks")


def path_of(cache, key=KEY):
    return cache.folder / key.hex()


def test_code_is_read_again(cache):
    assert cache.read(KEY) is None
    cache.write(KEY, b"code")
    cache.write(KEY, b"code again")
    assert cache.read(KEY) == b"code again"
    assert cache.read(OTHER) is None
    assert [*cache.folder.iterdir()] == [path_of(cache)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content[:20],
        lambda _content: b"",
        lambda content: content[:-1] + b"x",
        lambda content: b"x" + content[1:],
    ],
)
def test_a_damaged_file_is_as_none(cache, damage):
    cache.write(KEY, b"code")
    path = path_of(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.read(KEY) is None


@pytest.mark.slow
def test_no_damaged_file_is_read(cache):
    code = bytes(range(256)) * 2
    cache.write(KEY, code)
    path, numbers = path_of(cache), random.Random(5)
    whole = path.read_bytes()
    for _ in range(5000):
        data = bytearray(whole)
        for _ in range(numbers.randrange(1, 4)):
            data[numbers.randrange(len(data))] = numbers.randrange(256)
        end = numbers.choice((len(data), numbers.randrange(len(data))))
        path.write_bytes(data[:end] + numbers.choice((b"", numbers.randbytes(5))))
        assert cache.read(KEY) in ((None,) if path.read_bytes() != whole else (code,))


def test_a_pipe_is_not_waited_for(cache):
    cache.write(OTHER, b"code")
    os.mkfifo(path_of(cache))
    assert cache.read(KEY) is None


def test_a_folder_of_another_user_is_not_used(cache, monkeypatch):
    cache.write(KEY, b"code")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert cache.read(KEY) is None
    cache.write(OTHER, b"code")
    assert [*cache.folder.iterdir()] == [path_of(cache)]


@pytest.mark.parametrize("where", ["/proc/none", "~nobody_of_this_name", "~/.cache"])
def test_without_a_place_nothing_is_kept(monkeypatch, tmp_path, where):
    monkeypatch.setenv("XDG_CACHE_HOME", where)
    monkeypatch.setenv("HOME", "/proc/none")
    cache = CodeCache("blocks")
    cache.write(KEY, b"code")
    assert cache.read(KEY) is None


def test_two_processes_write_and_read_the_same_file(cache):
    program = f"""if True:
        from pathlib import Path
        from dwarfgpu.code_cache import CodeCache
        cache = CodeCache(Path({str(cache.folder)!r}))
        for _ in range(300):
            cache.write({KEY!r}, bytes(5000))
            assert cache.read({KEY!r}) == bytes(5000)"""
    both = [subprocess.Popen([sys.executable, "-c", program], cwd=ROOT) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert [*cache.folder.iterdir()] == [path_of(cache)]


def test_a_file_is_for_one_key(cache):
    cache.write(KEY, b"code")
    path_of(cache).rename(path_of(cache, OTHER))
    assert cache.read(OTHER) is None


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_folder_that_others_can_write_is_not_used(cache, depth):
    cache.write(KEY, b"code")
    folder = [cache.folder, *cache.folder.parents][depth]
    folder.chmod(0o777)
    assert cache.read(KEY) is None
    cache.write(OTHER, b"code")
    folder.chmod(0o700)
    assert cache.read(OTHER) is None
    assert cache.read(KEY) == b"code"


def test_a_link_is_not_followed(cache, tmp_path):
    cache.write(KEY, b"code")
    path_of(cache).rename(tmp_path / "elsewhere")
    path_of(cache).symlink_to(tmp_path / "elsewhere")
    assert cache.read(KEY) is None
    path_of(cache).unlink()
    (tmp_path / "elsewhere").rename(path_of(cache))
    assert cache.read(KEY) == b"code"
    cache.folder.rename(tmp_path / "blocks")
    cache.folder.symlink_to(tmp_path / "blocks")
    assert cache.read(KEY) is None


def test_the_oldest_go_first(cache, monkeypatch):
    monkeypatch.setattr(code_cache, "LIMIT", 1000)
    for number in range(20):
        cache.write(bytes([number]) * 32, bytes(100))
        os.utime(path_of(cache, bytes([number]) * 32), (number, number))
    assert sum(entry.stat().st_size for entry in os.scandir(cache.folder)) <= 1000
    assert cache.read(bytes([19]) * 32)
    assert cache.read(bytes([0]) * 32) is None


def test_a_folder_that_cannot_be_written_loses_nothing(cache, tmp_path):
    (tmp_path / "cache").write_text("a file")
    cache.write(KEY, b"code")
    assert cache.read(KEY) is None


def test_a_function_is_compiled_once(cache):
    number = ctypes.c_int64(14)
    first = compiled(TEXT, cache=cache)
    (file,) = cache.folder.iterdir()
    before = file.stat().st_ino
    second = compiled(TEXT, cache=cache)
    assert [function(ctypes.addressof(number)) for function in (first, second)] == [42, 42]
    assert file.stat().st_ino == before


KERNEL = "kernel void k(global int *p) { p[0] = 1; }\n"
LAUNCH = ("k", "--grid", "1", "--work-group", "1", "zeros(1)")
OF_SOURCES = [
    ("run", "{}", *LAUNCH, "--print", "p", "--check"), ("debug", "{}", *LAUNCH, "-batch", "-ex", "info line k"),
    ("verify", "{}"), ("judge", "{}", "k", "--grid", "1", "--work-group", "1", "made"), ("report", "{}"),
    ("kernels", "{}"), ("coverage", "{}"), ("memmodel", "check", "{}"), ("ls", "{}"), ("compile", "{}", "-o", "{}.co"),
]  # fmt: skip


@pytest.mark.parametrize("words", OF_SOURCES, ids=lambda words: words[0])
@pytest.mark.sampled(8)
def test_a_command_works_where_no_cache_can_be_written(words, tmp_path, require_tool):
    require_tool("clang-22", "clang")
    source = tmp_path / "k.cl"
    source.write_text(KERNEL, "utf-8")
    words = [word.format(source) for word in words]
    usual = run(*words)
    done = run(*words, env={"HOME": os.devnull, "XDG_CACHE_HOME": f"{os.devnull}/cache"})
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    place = f"{os.devnull}/cache/dwarfgpu/code: Not a directory"
    expected = [f"warning: compiled code is kept for this command only ({place})"]
    assert warnings == ([] if words[0] == "compile" else expected)
    others = "".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith("warning: "))
    assert (done.returncode, done.stdout, others) == (usual.returncode, usual.stdout, usual.stderr)
