// Package pending says how long pods have waited for a node that somebody owes them. The sleep of the
// NodePools that could launch one does not count: a person wanted it, and nobody has to be woken for it.
//
// Its place: provision measures by it what the alarm pods-unserved looks at, and the view tells such pods
// apart. It is a deciding package.
//
// Invariants:
//   - The result depends on the arguments only. The caller passes the time.
//   - A pod that a pool could serve which is awake, or that no pool could serve, waits from its creation.
//     So does one whose constraints cannot be read.
package pending
