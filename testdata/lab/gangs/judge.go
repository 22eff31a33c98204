package gangs

import (
	"fmt"
	"io"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

// Claim is a NodeClaim of a gang. A time is zero until it has come.
type Claim struct {
	Name, Node string
	// Launched is when it had an instance, Used when a pod of the gang was bound to its node, and
	// Gone when it was deleted.
	Launched, Used, Gone time.Time
}

// steps counts what has come of the claim.
func (c Claim) steps() int {
	count := 1
	for _, at := range []time.Time{c.Launched, c.Used, c.Gone} {
		if !at.IsZero() {
			count++
		}
	}
	return count
}

// Result is what became of one gang, or of several.
type Result struct {
	Gangs, Pods int
	// Whole counts the gangs whose pods all have a node, None those without any, and InPart the
	// others.
	Whole, None, InPart int
	// Nodes counts the instances that were launched, Returned those that went without a pod, Left
	// those that a gang without a place still had at its end, and Spare those that a whole gang
	// does not use, because the scheduler packed its pods more tightly.
	Nodes, Returned, Left, Spare int
	// LongestAlone is the longest time that an instance was there before a pod of its gang, or
	// before it went. It ends when the gang is whole.
	LongestAlone time.Duration
}

// Judge scores a gang of so many pods, of which some have a node. The end is when it was whole, or
// when the time was over.
func Judge(pods, bound int, claims []Claim, end time.Time) Result {
	result := Result{Gangs: 1, Pods: pods}
	switch bound {
	case pods:
		result.Whole = 1
	case 0:
		result.None = 1
	default:
		result.InPart = 1
	}
	for _, claim := range claims {
		if claim.Launched.IsZero() {
			continue
		}
		result.Nodes++
		until := claim.Used
		switch {
		case !claim.Used.IsZero():
		case !claim.Gone.IsZero():
			result.Returned++
			until = claim.Gone
		default:
			if bound < pods {
				result.Left++
			} else {
				result.Spare++
			}
			until = end
		}
		result.LongestAlone = max(result.LongestAlone, until.Sub(claim.Launched))
	}
	return result
}

// Add adds another result.
func (r *Result) Add(other Result) {
	r.Gangs, r.Pods = r.Gangs+other.Gangs, r.Pods+other.Pods
	r.Whole, r.None, r.InPart = r.Whole+other.Whole, r.None+other.None, r.InPart+other.InPart
	r.Nodes, r.Returned = r.Nodes+other.Nodes, r.Returned+other.Returned
	r.Left, r.Spare = r.Left+other.Left, r.Spare+other.Spare
	r.LongestAlone = max(r.LongestAlone, other.LongestAlone)
}

// mostAlone is the longest time that an instance may be there without its gang.
const mostAlone = time.Minute

// Check says what must not be.
func (r *Result) Check() error {
	switch {
	case r.InPart > 0:
		return fmt.Errorf("%d of %d gangs run in part", r.InPart, r.Gangs)
	case r.Left > 0:
		return fmt.Errorf("%d nodes stay for gangs that do not run", r.Left)
	case r.LongestAlone > mostAlone:
		return fmt.Errorf("a node was there without its gang for %s, want at most %s", r.LongestAlone, mostAlone)
	}
	return nil
}

// Write prints the result of some gangs beside its targets.
func (r *Result) Write(out io.Writer) error {
	return scenario.WriteTable(out, []string{
		"what\tmeasured\ttarget",
		fmt.Sprintf("gangs that run as a whole\t%d of %d\t", r.Whole, r.Gangs),
		fmt.Sprintf("gangs without any node\t%d\t", r.None),
		fmt.Sprintf("gangs that run in part\t%d\t0", r.InPart),
		fmt.Sprintf("nodes\t%d, of which %d were returned and %d are spare\t", r.Nodes, r.Returned, r.Spare),
		fmt.Sprintf("nodes that stay for a gang without a place\t%d\t0", r.Left),
		fmt.Sprintf("the longest time of a node without its gang\t%.1f s\t60 s", r.LongestAlone.Seconds()),
	})
}
