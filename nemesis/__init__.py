"""Whom x how x when: targets, faults and schedules, each pure where it decides and thin where it acts."""
