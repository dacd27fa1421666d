"""Indexes: functions, variables and types by name and by address.

`lookup` answers. An index of the producer is used where there is one: `debug_names` reads it. For other units
`name_index` and `address_index` are made when needed, and `name_search` finds the units that can have a name at all.
"""
