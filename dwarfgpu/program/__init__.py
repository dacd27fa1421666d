"""What a user asks about: machines, frames, units, and questions to them."""
