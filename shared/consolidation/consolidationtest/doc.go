// Package consolidationtest has fleets that are worth consolidating, for tests and comparisons, and
// carries moves out on them: as a cluster would be after a move, made without the package that has
// planned it.
package consolidationtest
