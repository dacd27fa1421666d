"""Where variables can be seen: the share of their scopes with a location, the kinds of these, and why the rest lacks one."""
