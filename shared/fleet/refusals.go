package fleet

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
)

// unauthorized is the reason of a launch that a policy denies.
const unauthorized = "Unauthorized"

// refusals are the overrides of a request that EC2 refuses because of the class, by the reason. A
// policy of the organization often denies some instance types only, and one of several images may not
// be shared. Then these offerings are left out, and the class launches others.
type refusals struct{ groups []*refusal }

// refusal is what EC2 refuses for one reason.
type refusal struct {
	types, images []string
	failures      []*Failure
	short         []Shortage
}

// add notes a refusal. It returns false for a failure that is not about the class, and for one that
// names no override.
func (r *refusals) add(request *launch.Request, override launch.Override, image string, failure *Failure) bool {
	if failure.Condition == "" || !names(override) {
		return false
	}
	group := r.of(failure.Reason)
	group.failures = append(group.failures, failure)
	short := ofClassOnly(request, override, failure, unsuitableFor)
	if slices.ContainsFunc(group.short, func(s Shortage) bool { return s.Key == short.Key }) {
		return true
	}
	group.short = append(group.short, short)
	if !slices.Contains(group.types, override.InstanceType) {
		group.types = append(group.types, override.InstanceType)
	}
	if image != "" && !slices.Contains(group.images, image) {
		group.images = append(group.images, image)
	}
	return true
}

func (r *refusals) of(reason string) *refusal {
	for _, group := range r.groups {
		if group.failures[0].Reason == reason {
			return group
		}
	}
	r.groups = append(r.groups, &refusal{})
	return r.groups[len(r.groups)-1]
}

// split returns the failures that are the class's, and what to leave out for the rest, with the worst
// of their failures. accepted says that EC2 took another override of the request.
func (r *refusals) split(
	request *launch.Request, accepted bool,
) (ofClass []*Failure, short []Shortage, partly *Failure) {
	var rest []*Failure
	for _, group := range r.groups {
		if group.isClass(request, accepted) {
			ofClass = append(ofClass, group.failures...)
			continue
		}
		short = append(short, group.shortages()...)
		rest = append(rest, group.failures...)
	}
	return ofClass, short, worst(rest)
}

// isClass reports whether the class is at fault, and not the offerings.
func (r *refusal) isClass(request *launch.Request, accepted bool) bool {
	switch first := r.failures[0]; {
	case first.Reason == unauthorized:
		// Where all of several types are denied the right to launch is missing, and not that to a type.
		asked := map[string]bool{}
		for _, override := range request.Overrides() {
			asked[override.InstanceType] = true
		}
		return len(asked) > 1 && len(r.types) == len(asked)
	case accepted:
		return false
	case first.Condition == api.ConditionTypeAMIsReady:
		return !request.OtherImages || len(r.images) > 1
	}
	return true
}

// shortages leave out the refused offerings. Only the first has a message, about all of their types, so
// that one event tells of them.
func (r *refusal) shortages() []Shortage {
	slices.Sort(r.types)
	verb := "refuses "
	if r.failures[0].Reason == unauthorized {
		verb = "denies "
	}
	for i := range r.short {
		if i == 0 {
			r.short[i].Message = "EC2 " + verb + strings.Join(r.types, ", ") + ": " + r.short[i].Message
		} else {
			r.short[i].Message = ""
		}
	}
	return r.short
}
