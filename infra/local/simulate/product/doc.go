// Package product runs the simulation with Whittle's own functions. Its tests compile only with the tag
// simulate and the overlay of package overlay: `make simulate` sees to both.
package product
