"""Many runs beside each other: compared, listed over nights, published."""
