// Package engine decides the order of everything that happens in a simulation. It is the only source of
// choices: a choice depends on the seed and on the name of what is chosen, and on nothing else.
//
// An Engine runs inside a bubble of testing/synctest, whose time is virtual. It waits until every other
// goroutine waits, and then lets one thing happen: one call reaches its server, one answer arrives, one
// machine boots. Goroutines of the product run in between, until all of them wait again. Their calls are
// put in order by what they are, never by which goroutine came first.
package engine
