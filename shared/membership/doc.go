// Package membership says which Node is a NodeClaim's, and how far the Node is believed.
//
// Its place: every decision that needs a claim and its Node gets the pair here. A kubelet writes most of
// its own Node: its capacity, its labels, and at its creation the providerID. Neither the pair nor what
// others get may depend on that alone. Join pairs by the name that lifecycle has proven with EC2, and
// Bounded bounds what the Node says by what its claim knows. The README lists each field of a Node that a
// decision reads, its writers, and its bound.
package membership
