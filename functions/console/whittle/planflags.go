package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/spread"
)

// planFlags holds the flags of the planning commands.
type planFlags struct {
	files           []string
	instanceTypes   string
	policy          plan.PreferencePolicy
	minValuesPolicy plan.MinValuesPolicy
	spread          spread.Defaults
	output          string
	kubeconfig      string
	kubecontext     string
	// consolidate shows the moves of consolidation in place of a plan.
	consolidate bool
	// exitCode makes pods without a place an outcome with an exit code of its own. maxPrice does the
	// same for new nodes that cost more, in US dollars an hour; 0 for any price.
	exitCode bool
	maxPrice float64
	// words are the leading arguments that are no flags, as many as the command needs.
	words []string
}

// parsePlanFlags reads a command line. After the command's own words, each argument that is no flag
// is another file of -f. That makes -f *.yaml work.
func parsePlanFlags(command string, words int, arguments []string, problems io.Writer) (*planFlags, error) {
	f := &planFlags{policy: plan.PreferencesRespected, minValuesPolicy: plan.MinValuesStrict, output: "table"}
	flags := flag.NewFlagSet("whittle "+command, flag.ContinueOnError)
	flags.Func("f", "`file` of Kubernetes manifests, a folder of them, or - for standard input; repeatable (default: "+
		"the cluster of the kubeconfig)", func(name string) error {
		f.files = append(f.files, name)
		return nil
	})
	flags.StringVar(
		&f.instanceTypes, "instance-types", "",
		"`file` of instance types, in Karpenter's kwok form or the snapshot form (default: with -f the built-in table, "+
			"else the cluster's catalogue)",
	)
	flags.Func(
		"policy", "whether preferences count, `Respect|Ignore` (default Respect)",
		oneOf(&f.policy, plan.PreferencesRespected, plan.PreferencesIgnored),
	)
	flags.Func(
		"min-values-policy", "whether minValues must be met, `Strict|BestEffort` (default Strict)",
		oneOf(&f.minValuesPolicy, plan.MinValuesStrict, plan.MinValuesBestEffort),
	)
	flags.Func(
		"default-topology-spread",
		"`constraints` of pods that have none, a list in YAML or JSON as in the stack's setting defaultTopologySpread",
		func(text string) (err error) { f.spread, err = spread.Parse(text); return err },
	)
	for _, name := range []string{"o", "output"} {
		flags.Func(name, "`form` of the output, table or json (default table)", oneOf(&f.output, "table", "json"))
	}
	flags.StringVar(
		&f.kubeconfig, "kubeconfig", "",
		"kubeconfig `file` of the cluster (default: KUBECONFIG, or .kube/config at home)",
	)
	flags.StringVar(&f.kubecontext, "context", "", "`name` of the context in it (default: its current one)")
	if command == "plan" {
		flags.BoolVar(
			&f.consolidate, "consolidate", false,
			"show the nodes to remove or replace to save money, and why others stay; change nothing",
		)
		flags.BoolVar(&f.exitCode, "exit-code", false, "end with code 3 if a pod has no place")
		flags.Func("max-price", "end with code 4 if the new nodes cost more than so many `dollars` an hour",
			func(text string) (err error) { f.maxPrice, err = parsePrice(text); return err })
	}
	rest := arguments
	for {
		if err := parse(flags, rest, problems); err != nil {
			return nil, err
		}
		if rest = flags.Args(); len(rest) == 0 {
			break
		}
		if len(f.words) < words {
			f.words = append(f.words, rest[0])
		} else {
			f.files = append(f.files, rest[0])
			if len(f.files) == 1 {
				return nil, usageProblem(problems, "whittle %s: got %q: name files with -f", command, rest[0])
			}
		}
		rest = rest[1:]
	}
	if len(f.files) > 0 && (f.kubeconfig != "" || f.kubecontext != "") {
		return nil, usageProblem(
			problems, "whittle %s: -f plans without a cluster: leave -kubeconfig and -context out", command,
		)
	}
	read := append(slices.Clone(f.files), f.instanceTypes)
	if first := slices.Index(read, "-"); first >= 0 && slices.Contains(read[first+1:], "-") {
		return nil, usageProblem(problems, "whittle %s: standard input can be read only once: pass - once", command)
	}
	return f, nil
}

// parsePrice reads a price such as 12.50.
func parsePrice(text string) (float64, error) {
	price, err := strconv.ParseFloat(text, 64)
	if err != nil || !(price > 0) || math.IsInf(price, 0) {
		return 0, errors.New("write dollars an hour, such as 12.50")
	}
	return price, nil
}

func usageProblem(problems io.Writer, format string, arguments ...any) error {
	fmt.Fprintf(problems, format+"\n", arguments...)
	return errUsage
}

// oneOf sets a flag that accepts a few values.
func oneOf[T ~string](value *T, values ...T) func(string) error {
	return func(text string) error {
		var names []string
		for _, v := range values {
			if text == string(v) {
				*value = v
				return nil
			}
			names = append(names, string(v))
		}
		return fmt.Errorf("want %s", strings.Join(names, " or "))
	}
}
