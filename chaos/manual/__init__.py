"""A cluster that is kept up by hand, and the socket that obeys its commands."""
