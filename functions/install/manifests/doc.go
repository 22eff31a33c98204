// Package manifests holds the objects that Whittle installs in a cluster: the definitions of its
// kinds, its namespace, and the rights of its functions and of people.
//
// install applies them in that order. Whittle installs nothing else in the cluster.
package manifests
