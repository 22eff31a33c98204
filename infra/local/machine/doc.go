// Package machine is what runs on the instances of the local EC2: an operating system that boots, reads its own user data in the language
// of its image's family, and becomes a kubelet that joins the cluster it finds there.
//
// The kubelet talks to the real API server with a token of its instance's role, so that access entries, the Node authorizer and NodeRestriction
// decide what it may do. It registers its Node, renews its Lease, runs the pods that are bound to it and lets them go. A machine with bad user data
// runs and never joins, and says why on its console.
//
// The package also acts as the cluster's cloud controller: the Node of a terminated instance is deleted after a while.
package machine
