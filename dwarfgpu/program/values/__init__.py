"""Values of a program: objects of a type in an abstract storage, read part by part."""
