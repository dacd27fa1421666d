"""Campaigns: what a compiler makes of many sources, judged at each level, reduced, and grouped by causes."""
