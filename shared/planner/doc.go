// Package plan decides where waiting pods go: on nodes that exist, on nodes that are on their way, and on which new nodes. It is pure: Solve reads a
// Snapshot and gives a Plan, both plain values that serialise to JSON, without clock, client or randomness; the same snapshot gives the same plan in
// whatever order its lists come.
//
// Solve goes through these steps, a file each:
//
//	shape.go      pods that are equal for scheduling become one shape with a count
//	pool.go       node pools and their instance types (typelist.go) become configurations (pool, type; configs.go) and columns (pool, type, zone, capacity type, price)
//	feasible.go   for each demand the set of columns that can hold it, as a bit set; narrowing.go remembers what follows from the same alternatives
//	classes.go    running and waiting pods as selectors see them; board.go counts them in the domains of zones and other labels
//	              (nodefilter.go: the nodes that count for a spread; domains.go: the values that new nodes may have)
//	volumes.go    what the pods' volumes ask of a node
//	topology.go   spread and affinity over zones and other labels divide a shape into demands, each bound to its domain (spread.go)
//	existing.go   existing and in-flight nodes take what they can
//	columns.go    columns are numbered by price, so that sets of them go from cheap to dear, and each amount of a resource has its set
//	hosts.go      which demands cannot share a node, and whose spreads over hosts count whom
//	bound.go      the lower bound that no fleet for these pods can cost less than, and what it makes a pod worth (dual.go, dualcolumns.go, dualsolve.go,
//	              dualvalues.go, simplex.go, knapsack.go)
//	pack.go       new nodes: for the hardest demand the column and filling that cost least for what they are worth (candidates.go, pile.go, fill.go); where the
//	              kinds of pods are few, whole fillings that a linear program finds (patterns.go); opened.go: what pods decide of a node's labels
//	improve.go    the nodes that are worst used are taken apart and packed anew, as long as that is cheaper
//	unskew.go     what spreads and affinity do not allow after all, since other pods went elsewhere, is taken back
//	rest.go       what is left is placed one at a time (planned.go), and preferences are given up one at a time (topologyterms.go)
//	claim.go      each new node becomes a NodeClaim with all instance types that would do as well (standins.go, product.go), and what it asks for (asked.go)
//	further.go    where a plan for few pods costs clearly more than the bound, further ones are made without one of the things that it makes use of
//	explain.go    for a pod without a place, what stands in its way in each node pool
package planner
