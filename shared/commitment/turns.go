package commitment

import (
	"hash/fnv"
	"time"
)

// Clusters of one account do not know of each other's plans. They see each other's instances in
// EC2's list, some time after the launch. So that no two buy the same unit, they take turns by the
// clock, without a word between them.
const (
	// turnFor is how long a turn lasts. Turns begin at the same times in all clusters.
	turnFor = 10 * time.Minute
	// settleFor is the beginning of a turn in which nobody takes anything: launches of the last
	// turn end, and EC2 lists them. A reading of before it has not seen them all.
	settleFor = 2 * time.Minute
)

// turnOf is the beginning of the turn at a time.
func turnOf(now time.Time) time.Time { return now.Truncate(turnFor) }

// inTurn is what the cluster may take now of the units that it believes to be left. It has taken
// some in this turn. In every second turn each cluster has an equal part of what was left at the
// beginning. In the turns between, one cluster has all, another one each time: equal parts of few
// units may be smaller than a node.
func (r *Reading) inTurn(stock string, left, taken int, now time.Time) int {
	if r.Clusters <= 1 {
		return left
	}
	turn := turnOf(now)
	if settled := turn.Add(settleFor); now.Before(settled) || r.Time.Before(settled) {
		return 0
	}
	number := int(turn.Unix() / int64(turnFor/time.Second))
	if number%2 == 0 {
		// Others may have taken theirs already, and then left+taken is less than at the beginning.
		return (left+taken)/r.Clusters - taken
	}
	name := fnv.New32a()
	_, _ = name.Write([]byte(stock)) // never fails
	if (number/2+int(name.Sum32()%uint32(r.Clusters)))%r.Clusters == r.Place {
		return left
	}
	return 0
}
