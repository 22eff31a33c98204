// Package reaction starts the function watch, so that Whittle reacts to changes in the cluster at
// once while there is work, and costs nothing more while there is none. It is an edge package.
//
// Invariant: a watch that is not started, or that has died, delays work to the next tick and loses
// none.
package reaction
