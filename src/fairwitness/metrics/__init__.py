"""Arrays in, numbers out. Nothing here reads a file, knows a model or draws."""
