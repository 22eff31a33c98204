// Package fairness shares bounds between namespaces. Whatever takes the first so many of a list gives
// each namespace its turn before it takes them, so that one tenant's objects do not hide those of all
// others. It is pure, and imports nothing of Whittle's.
package fairness
