// Package disrupt removes nodes that cost more than they are worth. It replaces nodes that are
// outdated, and nodes that AWS is about to take.
//
// The handler turns a message into one pass. A pass reads the cluster once, through package sight and
// past the watch cache (read.go). It runs its stages in a fixed order (pass.go). Each stage takes its
// decisions from pure packages: disruption and consolidation choose nodes, decide turns the choices
// into tasks. The performer carries the tasks out (perform.go) and decides nothing.
package disrupt
