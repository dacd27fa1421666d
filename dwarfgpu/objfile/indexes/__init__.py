"""Indexes: functions, variables and types by name and by address.

`index` answers, and says what an index is about with `entries`. What a producer wrote is used where it is:
`debug_names` and `aranges` read it. For other units `name_index`, `variable_index` and `address_index` are
made one by one, and `name_search` says which units a name can be in at all.
"""
