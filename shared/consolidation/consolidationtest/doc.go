// Package consolidationtest has fleets to consolidate, for tests and comparisons, and carries moves
// out on them. It checks moves independently of the package that plans them.
package consolidationtest
