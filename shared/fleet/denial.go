package fleet

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/launch"
)

// unauthorized is the reason of a launch that a policy denies.
const unauthorized = "Unauthorized"

// denials are the overrides of a request that a policy denies. A policy of the organization often
// denies some instance types only. Then these are left out, and the class launches others.
type denials struct {
	types    []string
	failures []*Failure
	short    []Shortage
}

// add notes a denial. It returns false for another failure, and for a denial that names no override.
func (d *denials) add(request *launch.Request, override launch.Override, failure *Failure) bool {
	if failure.Reason != unauthorized || override.InstanceType == "" || override.Zone == "" {
		return false
	}
	d.failures = append(d.failures, failure)
	short := ofClass(request, override, failure)
	if slices.ContainsFunc(d.short, func(s Shortage) bool { return s.Key == short.Key }) {
		return true
	}
	d.short = append(d.short, short)
	if !slices.Contains(d.types, override.InstanceType) {
		d.types = append(d.types, override.InstanceType)
	}
	return true
}

// ofAll reports whether all of several instance types are denied. Then the right to launch is
// missing, and not the right to a type.
func (d *denials) ofAll(request *launch.Request) bool {
	asked := map[string]bool{}
	for _, override := range request.Overrides() {
		asked[override.InstanceType] = true
	}
	return len(asked) > 1 && len(d.types) == len(asked)
}

// shortages leave out the denied offerings. Only the first has a message, about all of their types, so
// that one event tells of them.
func (d *denials) shortages() []Shortage {
	slices.Sort(d.types)
	for i := range d.short {
		if i == 0 {
			d.short[i].Message = "EC2 denies " + strings.Join(d.types, ", ") + ": " + d.short[i].Message
		} else {
			d.short[i].Message = ""
		}
	}
	return d.short
}
