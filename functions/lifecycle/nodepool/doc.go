// Package nodepool computes the status of a NodePool: the sum of its nodes, whether it may launch
// more, and whether its launches succeed. It is pure. Everything that it remembers between passes
// is in the status itself.
package nodepool
