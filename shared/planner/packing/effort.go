package packing

const (
	// fewDemands and someDemands divide workloads by size. triesFew, triesSome and triesMany say how
	// many offerings are tried for each node of such a workload.
	fewDemands, someDemands        = 200, 3000
	triesFew, triesSome, triesMany = 16, 10, 7
	// triesFree replaces them for a seed without host constraints, where more than freeDemands wait.
	// So many units can fill its node that the first few offerings are good enough. Further tries
	// would also use up units that later nodes need.
	triesFree, freeDemands = 5, 800
	// tryWork is the work of a try besides the items that it looks at.
	tryWork = 12
)

// effort decides how many offerings are tried, and counts the work done.
type effort struct {
	// tries is how many offerings are tried for a node; freeTries holds for a seed that only room
	// keeps from a node.
	tries, freeTries int
	// many says that many demands wait. A node then rarely stays so empty that a much cheaper one
	// would hold its units.
	many bool
	// work counts the items looked at.
	work int
}

// scaleTo sets the effort for a number of waiting demands.
func (e *effort) scaleTo(demands int) {
	e.many = demands > fewDemands
	switch {
	case !e.many:
		e.tries, e.freeTries = triesFew, triesFew
	case demands <= freeDemands:
		e.tries, e.freeTries = triesSome, triesSome
	case demands <= someDemands:
		e.tries, e.freeTries = triesSome, triesFree
	default:
		e.tries, e.freeTries = triesMany, triesFree
	}
}
