// Package watch wakes other functions as soon as something changes in the cluster. Its page is
// README.md.
//
// handler.go holds one watch from its Lease to its end. sources.go reads the changes. The package
// signal decides whom they concern.
package watch
