// Command disrupt removes nodes that cost more than they are worth, and replaces nodes that are out
// of date or that AWS is about to take.
//
// The handler turns a message into one pass. A pass reads the cluster once (read.go) and runs its
// stages in a fixed order (pass.go). Each stage takes its decisions from pure packages: disruption
// and consolidation choose nodes, decide turns the choices into tasks. The performer carries the
// tasks out (perform.go) and decides nothing.
package main
