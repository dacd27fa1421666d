"""Checks of a kernel while it runs: data races, and barriers that not all work-items reach (`run --check`)."""
