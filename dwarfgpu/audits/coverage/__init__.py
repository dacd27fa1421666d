"""Where variables can be seen: shares of their scopes with a location, kinds of these, and why the rest lacks one."""
