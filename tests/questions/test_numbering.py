"""Waves are numbered from 1 and lanes from 0, at the prompt and at the shell, in every table and variable."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FILE = str(ROOT / "fixtures/asm/unwind-calls.gfx90a.w64.co")
