"""Containers: files that hold images, and how a user names one of those."""
