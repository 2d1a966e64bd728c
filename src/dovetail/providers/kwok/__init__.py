"""kwok — machines that exist only as Node objects, and the generic grid of types they come in."""
