"""Files of code: what each says by itself, and what is known of its code where it is loaded."""
