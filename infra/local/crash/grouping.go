package crash

import "slices"

// grouped puts kills at all the calls, two at each, into tellings: one kill in each of the
// function's invocations, so that what comes of one is over when the next comes. A function
// that has one invocation only dies in it and once more when it is repeated, further on. A
// kill that does not come about in company is tried alone, and where it is asked for all are.
func grouped(calls []Call, alone bool) [][]Kill {
	var invocations [][]Kill
	for _, call := range calls {
		for len(invocations) < call.Invocation {
			invocations = append(invocations, nil)
		}
		of := &invocations[call.Invocation-1]
		*of = append(*of, Kill{Call: call}, Kill{Call: call, After: true})
	}
	if alone {
		var tellings [][]Kill
		for _, kill := range slices.Concat(invocations...) {
			tellings = append(tellings, []Kill{kill})
		}
		return tellings
	}
	if len(invocations) == 1 {
		half := (len(invocations[0]) + 1) / 2
		invocations = [][]Kill{invocations[0][:half], invocations[0][half:]}
	}
	var tellings [][]Kill
	for _, kills := range invocations {
		for i, kill := range kills {
			if i == len(tellings) {
				tellings = append(tellings, nil)
			}
			tellings[i] = append(tellings[i], kill)
		}
	}
	return tellings
}
