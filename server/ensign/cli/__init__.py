"""The command line: decode, call, print. Reports go to standard output, everything else to standard error."""
