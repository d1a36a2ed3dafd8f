"""Many runs as one experiment: the cross product of axes, done one after the other, taken up again where it was cut off."""
