"""Checks of a kernel while it runs: data races, barriers that not all reach, and missing waits (`run --check`)."""
