// Package view computes the view of a cluster: its NodePools, its nodes with price and utilisation,
// and its pending pods.
//
// It is pure: objects and the time go in, a View comes out. A View serialises to JSON and writes
// itself as tables; package widget renders it as HTML.
package view
