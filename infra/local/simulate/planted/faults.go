// Package planted has faults that Whittle once had, or must never have, as replacements in its source. The
// simulation has to find each.
package planted

import "github.com/whittle-dev/whittle/infra/local/simulate/overlay"

// Fault is one fault.
type Fault struct {
	// Name is the one of the command, What for people.
	Name, What   string
	Replacements []overlay.Replacement
}

// Faults returns all planted faults.
func Faults() []Fault {
	return []Fault{
		{
			Name: "release-at-shutting-down",
			What: "lifecycle releases a node and its claim while the instance shuts down",
			Replacements: []overlay.Replacement{{
				File: "functions/lifecycle/nodeclaim/halted.go",
				Old:  "return instance.State == stateTerminated\n\t}\n\treturn p.absent()",
				New:  "return instance.isEnding()\n\t}\n\treturn p.absent()",
			}},
		},
		{
			Name: "replacement-not-awaited",
			What: "disrupt ends a node before its replacement is initialized",
			Replacements: []overlay.Replacement{{
				File: "shared/disruption/replacement.go", Old: "case len(progress.waiting) == 0:", New: "case true:",
			}},
		},
		{
			Name: "limits-not-checked-again",
			What: "provision launches claims that exceed a limit together with those of another writer",
			Replacements: []overlay.Replacement{{
				File: "functions/provision/pass.go",
				Old:  "range intent.Withdrawals(r.pools, snapshot, types) {",
				New:  "range intent.Withdrawals(r.pools, snapshot, types)[:0] {",
			}},
		},
		{
			Name: "another-token-each-time",
			What: "a launch that is tried again has another client token",
			Replacements: []overlay.Replacement{{
				File: "shared/fleet/launch.go", Old: "ClientToken: aws.String(request.ClientToken),",
				New: "ClientToken: aws.String(fmt.Sprintf(\"%.40s%d\", request.ClientToken, time.Now().UnixNano())),",
			}, {
				File: "shared/fleet/launch.go", Old: "\t\"fmt\"\n", New: "\t\"fmt\"\n\t\"time\"\n",
			}},
		},
	}
}
