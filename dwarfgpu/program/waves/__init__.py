"""Many waves and lanes at once: where each stands, and which can be asked as one.

`places` says which work-group a wave belongs to, `lanes` where each lane stands and which work-item it is, `groups`
which waves have the same place in the code. `simt` reads what a function says about its lanes, and `address_views`
gives one address in every address space that reaches the same byte.
"""
