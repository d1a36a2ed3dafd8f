"""Faults of disks: errors, stalls, power failures, and damage to what is stored."""
