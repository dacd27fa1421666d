"""Which operations have no meaning: exactly those that docs/isa.md lists."""

import pytest

from tools import isa_meanings


@pytest.mark.slow
def test_the_page_lists_what_has_no_meaning():
    page = isa_meanings.PAGE.read_text()
    assert isa_meanings.replaced(page) == page
