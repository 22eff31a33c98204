// Package nodeclaim is the life of a NodeClaim as a state machine: launched, registered,
// initialized, drained, terminated. Next takes one claim with everything that belongs to it (View)
// and returns the steps that bring it forward, and when to look again (Outcome).
//
// The package is pure. Its steps are carried out in their order and may be cut off after any of
// them; the next pass finds what is left. Three rules follow from that. The node is patched before
// the claim, because the claim reports what the node has. An intent is written before the call that
// cannot be taken back. The claim is released last, because it is what later passes find.
package nodeclaim
