"""Examples in a command's help. Imports nothing, for help and bad paths must cost nothing."""


def examples(*commands: str) -> str:
    """The last lines of a command's help, a command each; click must not fill them."""
    return "\n".join(["\b", "Examples:", *(f"  {command}" for command in commands)])
