"""AMDGPU (``amdgcn``): tables of the "User Guide for AMDGPU Backend" of LLVM, called *AMDGPU usage* below.

The edition of LLVM 22 is followed unless a comment says otherwise; the one of 2020 differs in some rows.
"""
