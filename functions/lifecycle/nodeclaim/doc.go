// Package nodeclaim is the life of a NodeClaim as a state machine: launched,
// registered, initialized, drained, terminated. Next looks at one claim with
// everything that belongs to it and gives the steps that bring it forward, and
// when to look again. It is pure. The steps are done in their order and may be
// cut off after any of them: the next look finds what is left.
package nodeclaim
