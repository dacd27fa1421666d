"""What a user asks about: files, machines that stand still, their frames and values.

This is where the reader (`objfile`), the evaluator (`expr`) and the machines (`backends`) are joined.
"""
