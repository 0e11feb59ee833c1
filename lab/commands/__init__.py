"""One module a sub-command, each with a function `command`; lab/cli.py imports them when they are asked for."""
