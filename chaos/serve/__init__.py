"""A web server for one store: its pages, files and archives, and the run that goes on."""
