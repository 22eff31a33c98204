// Package machine simulates the machines behind the local EC2's instances. A machine boots, reads
// its user data in the language of its image's family, and becomes a kubelet that joins the
// cluster.
//
// The kubelet talks to the real API server with a token of its instance's role. So access entries,
// the Node authorizer and NodeRestriction decide what it may do. It registers its Node, renews its
// Lease, and starts and ends the pods that are bound to it. A machine with bad user data runs,
// never joins, and writes the reason to its console.
//
// The package also acts as the cluster's cloud controller: it deletes the Node of a terminated
// instance after a while. And it acts as the controller of the EBS CSI driver: it attaches volumes to
// instances and detaches them. A pod runs when its volumes are attached to its machine.
package machine
