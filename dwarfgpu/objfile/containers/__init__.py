"""Containers: files that hold images."""
