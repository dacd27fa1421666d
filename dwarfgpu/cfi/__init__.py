"""Call frame information: its instructions, and the rules that they make."""
