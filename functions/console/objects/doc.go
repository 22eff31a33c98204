// Package objects reads the objects that console and `whittle status` show from a cluster. Its
// output is the input of package view.
package objects
