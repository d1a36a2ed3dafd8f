"""Workloads on logs, whose clients send messages and read them by offset or are given them."""
