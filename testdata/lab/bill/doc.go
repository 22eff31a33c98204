// Package bill measures what an account pays in a made month: with commitments, with instances
// outside of the cluster, and with a web load and batches. Whittle's planner buys the nodes, and
// its consolidation gives them back. Time is virtual, and there is neither an API server nor EC2.
// The commitments are applied to the bill by package commitment, whose results are AWS's own
// examples'.
//
// A month with pools that sleep is compared with what their windows say.
//
// The other bill is compared with that of planning by list prices, and with the least that a planner
// could pay who moves each pod each hour.
package bill
