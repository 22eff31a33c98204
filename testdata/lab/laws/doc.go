// Package laws has the rules of the world that Whittle keeps: what holds at every moment, and what holds in
// a world at rest. Each law is a function of one view of the world. The simulation, chaos runs, the crash
// matrix and the tests of the whole world look at their worlds through it.
package laws
