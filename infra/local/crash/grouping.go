package crash

import (
	"slices"
	"strings"
)

// harmlessEach is how many kills that change nothing a function dies by in one invocation.
const harmlessEach = 4

// grouped puts kills at all the calls, two at each, into tellings: in each of the function's
// invocations one kill after a call that changes something, so that what comes of it is over
// when the next comes, or some that leave everything as it was. A function that has one
// invocation only dies in it and once more when it is repeated, further on. A kill that does
// not come about in company is tried alone, and where it is asked for all are.
func grouped(calls []Call, alone bool) [][]Kill {
	type invocation struct{ harmless, others []Kill }
	var invocations []invocation
	var all [][]Kill
	for _, call := range calls {
		for len(invocations) < call.Invocation {
			invocations = append(invocations, invocation{})
		}
		before, after := Kill{Call: call}, Kill{Call: call, After: true}
		all = append(all, []Kill{before}, []Kill{after})
		of := &invocations[call.Invocation-1]
		of.harmless = append(of.harmless, before)
		if call.reads() {
			of.harmless = append(of.harmless, after)
		} else {
			of.others = append(of.others, after)
		}
	}
	if alone {
		return all
	}
	var tellings [][]Kill
	for _, of := range invocations {
		groups := slices.Collect(slices.Chunk(of.harmless, harmlessEach))
		count := len(of.others)
		if len(invocations) == 1 {
			count = (count + 1) / 2
		}
		for i := range count {
			group := of.others[i : i+1 : i+1]
			if further := i + count; further < len(of.others) {
				group = append(group, of.others[further])
			}
			groups = append(groups, group)
		}
		for i, group := range groups {
			if i == len(tellings) {
				tellings = append(tellings, nil)
			}
			tellings[i] = append(tellings[i], group...)
		}
	}
	return tellings
}

// reads tells whether the call changes nothing, by its name.
func (c Call) reads() bool {
	verb := c.Name
	if service, action, aws := strings.Cut(verb, ":"); aws && !strings.Contains(service, " ") {
		verb = action
	}
	return strings.HasSuffix(verb, " (dry run)") || slices.ContainsFunc([]string{"GET ", "LIST ", "Describe", "Get", "List"}, func(start string) bool { return strings.HasPrefix(verb, start) })
}
