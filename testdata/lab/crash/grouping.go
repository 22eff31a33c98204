package crash

import (
	"slices"
	"strings"
)

// harmlessEach is the number of kills at calls that change nothing, in one invocation.
const harmlessEach = 4

// grouped distributes two kills at each call over trials. In each invocation, a trial has one kill
// after a call that changes something, or several kills that change nothing. So the effect of one
// kill is over before the next one. If the function has only one invocation, a trial kills it there
// and once more when it is repeated. If alone is set, each kill gets its own trial.
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
	var trials [][]Kill
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
			if i == len(trials) {
				trials = append(trials, nil)
			}
			trials[i] = append(trials[i], group...)
		}
	}
	return trials
}

// reads reports whether the call changes nothing, judged by its name.
func (c Call) reads() bool {
	verb := c.Name
	if service, action, aws := strings.Cut(verb, ":"); aws && !strings.Contains(service, " ") {
		verb = action
	}
	return strings.HasSuffix(verb, " (dry run)") ||
		slices.ContainsFunc([]string{"GET ", "LIST ", "Describe", "Get", "List"}, func(start string) bool {
			return strings.HasPrefix(verb, start)
		})
}
