"""The pages a browser shows: the viewer over a folder of runs, and the annotation page. On localhost unless told otherwise."""
