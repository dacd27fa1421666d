"""Prototypes of C, as stubs and as arguments of calls."""

from __future__ import annotations

import pytest

from dwarfgpu.runtimes.prototypes import Api, prototype

STUBS = {
    "int f()": "API int f(void) { return (int)dwarfgpu_call(#, NULL, 0); }",
    "void f(void **p, int a)": (
        "API void f(word a0, int a1) { word words[] = {a0, (word)a1}; dwarfgpu_call(#, words, 2); }"
    ),
    "hipError_t f(dim3 grid, const char *name)": (
        "API int f(dim3 a0, word a1) { word words[] = {a0.x, a0.y, a0.z, a1}; return (int)dwarfgpu_call(#, words, 4); }"
    ),
    "void **f(size_t n)": (
        "API word f(word a0) { word words[] = {a0}; word found = dwarfgpu_call(#, words, 1); "
        "return found == dwarfgpu_no_device ? 0 : found; }"
    ),
}


@pytest.mark.parametrize("text", STUBS)
def test_stubs(text):
    assert prototype(text).stub == STUBS[text]


def test_arguments():
    row = prototype("int f(int a, unsigned b, dim3 c, void *d, size_t e)")
    words = [0xFFFFFFFF_FFFFFFFF, 0xFFFFFFFF_FFFFFFFE, 1, 2, 3, 1 << 63, 5]
    assert [*row.arguments(words)] == [-1, 0xFFFFFFFE, (1, 2, 3), 1 << 63, 5]


def test_calls():
    """Functions have numbers from 1; a coroutine is awaited."""
    api = Api()

    @api("int first(int a)")
    def first(_call, a):
        return a + 1

    @api("int second(int a)", "int third(int a)")
    async def second(_call, a):
        return a + 2

    assert api.called(None, 1, [5], lambda _call, result: result * 10) == 60
    with pytest.raises(StopIteration) as stopped:
        api.called(None, 3, [5], lambda _call, result: result * 10).send(None)
    assert stopped.value.value == 70
    assert api.source().count("API int ") == 3
