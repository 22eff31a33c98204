// Package product runs the simulation with Whittle's own functions. Its test is the program of
// `make simulate`, which compiles it with the overlay of package overlay.
package product
