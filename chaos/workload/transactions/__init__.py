"""Workloads of transactions: several keys are read and written at one moment."""
