"""A server of GDB's remote serial protocol: it shows the waves or threads of a stopped machine to any GDB.

`packets` finds packets in a stream, `remote` answers them, `description` writes the XML that GDB asks for, and
`listener` waits for connections.
"""
