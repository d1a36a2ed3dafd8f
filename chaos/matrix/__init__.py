"""Many runs as one experiment: the cross product of axes, one after the other, taken up again where it was cut off."""
