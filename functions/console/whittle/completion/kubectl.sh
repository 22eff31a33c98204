#!/bin/sh
# kubectl runs this for the words after `kubectl whittle`. Its name is kubectl_complete-whittle, and it lies in
# a folder of the PATH. A link of this name to the program whittle does the same.
exec kubectl-whittle __complete "$@"
