// Package laws has the rules of the world that the simulation and chaos runs hold Whittle to, as functions
// of what they see.
package laws
