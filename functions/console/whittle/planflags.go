package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/spread"
	"github.com/whittle-dev/whittle/shared/status"
)

// planFlags holds the flags of the planning commands.
type planFlags struct {
	files         []string
	instanceTypes string
	// prices is the value of -prices; empty for the input's own.
	prices, region string
	// reserved are the free instances of capacity reservations, by id; nil where nobody said them.
	reserved map[string]int
	// daemonSets is the value of -daemon-sets; empty for the default.
	daemonSets      string
	policy          plan.PreferencePolicy
	minValuesPolicy plan.MinValuesPolicy
	spread          spread.Defaults
	// maxDollars is the ceiling of all nodes in $/h; 0 for none.
	maxDollars float64
	output     form
	access
	// strict makes warnings errors. verbose shows the kinds that no plan depends on.
	strict, verbose bool
	// consolidate shows the moves of consolidation in place of a plan.
	consolidate bool
	// allDetails reads what an explanation may need beside the plan.
	allDetails bool
	// exitCode makes pods without a place an outcome with an exit code of its own. maxPrice does the
	// same for new nodes that cost more, in US dollars an hour; 0 for any price.
	exitCode bool
	maxPrice float64
	// against names the manifests that a plan is compared with.
	against []string
	// words are the leading arguments that are no flags, and namespace is that of the object they name.
	words     []string
	namespace string
	// given are the names of the flags on the command line.
	given map[string]bool
}

// noWords is for commands without words of their own.
func noWords([]string) bool { return false }

// parsePlanFlags reads a command line. takes reports whether the command takes a further word of its
// own after some. Each other argument that is no flag is another file of -f. That makes -f *.yaml
// work.
func parsePlanFlags(
	command string, takes func(words []string) bool, arguments []string, problems io.Writer,
) (*planFlags, error) {
	f := &planFlags{
		policy: plan.PreferencesRespected, minValuesPolicy: plan.MinValuesStrict, given: map[string]bool{},
	}
	flags := flag.NewFlagSet("whittle "+command, flag.ContinueOnError)
	f.addInputs(flags)
	f.addPolicies(flags)
	forms := []string{formTable, formWide, formJSON, formYAML}
	switch command {
	case "plan":
		forms = append(forms, formMarkdown)
		f.addOutcomes(flags)
	case "explain":
		for _, name := range []string{"n", "namespace"} {
			flags.StringVar(&f.namespace, name, "", "`name` of the object's namespace (default: default)")
		}
	}
	outputFlag(flags, &f.output, forms...)
	rest := arguments
	for {
		if err := parse(flags, rest, problems); err != nil {
			return nil, err
		}
		if rest = flags.Args(); len(rest) == 0 {
			break
		}
		if takes(f.words) {
			f.words = append(f.words, rest[0])
		} else {
			f.files = append(f.files, rest[0])
			if len(f.files) == 1 {
				return nil, usageProblem(problems, "whittle %s: %s", command, f.stray(rest[0]))
			}
		}
		rest = rest[1:]
	}
	flags.Visit(func(set *flag.Flag) { f.given[set.Name] = true })
	if text := f.contradiction(); text != "" {
		return nil, usageProblem(problems, "whittle %s: %s", command, text)
	}
	return f, nil
}

// stray says what is wrong with an argument that is no flag, before any -f.
func (f *planFlags) stray(argument string) string {
	if len(f.words) == 1 && f.words[0] != "" && !strings.ContainsAny(f.words[0], "/.") {
		if _, err := os.Stat(argument); err != nil {
			return typeMeant(f.words[0])
		}
	}
	return fmt.Sprintf("got %q: name files with -f%s", argument, asFile([]string{argument}))
}

// asFile shows how to name the first argument as a file; empty where it is none.
func asFile(arguments []string) string {
	if len(arguments) > 0 {
		if _, err := os.Stat(arguments[0]); err == nil {
			return ", as in -f " + arguments[0]
		}
	}
	return ""
}

// addInputs adds the flags that name what is read.
func (f *planFlags) addInputs(flags *flag.FlagSet) {
	flags.Func("f", "`file` of Kubernetes manifests, a folder of them, or - for standard input; repeatable (default: "+
		"the cluster of the kubeconfig)", appendTo(&f.files))
	flags.StringVar(
		&f.instanceTypes, "instance-types", "",
		"`file` of instance types, in Karpenter's kwok form or the snapshot form (default: with -f the built-in table, "+
			"else the cluster's catalogue)",
	)
	flags.Var(
		oneOf(&f.prices, pricesBuiltin, pricesAWS), "prices",
		"where types and prices come from, `built-in|aws` (default: built-in with -f, else the cluster's "+
			"catalogue); aws reads today's with your credentials",
	)
	flags.StringVar(&f.region, "region", "", "`name` of the region for -prices aws (default: the environment's)")
	flags.Func(
		"reserved", "free instances of capacity reservations, which files do not hold: `counts` as cr-0a1b=3,cr-0c2d=0",
		f.addReserved,
	)
	flags.Var(
		oneOf(&f.daemonSets, daemonSetsEKS, daemonSetsFiles), "daemon-sets",
		"DaemonSets of plans of files, `eks|files`: those that EKS puts into each cluster count too, or the files' alone "+
			"(default: eks)",
	)
	f.access.addFlags(flags)
	flags.BoolVar(&f.strict, "strict", false, "fail on warnings about files, such as a missing EC2NodeClass")
	flags.BoolVar(&f.verbose, "v", false, "show the objects in files that no plan depends on")
}

// These are the values of the flag -daemon-sets.
const (
	daemonSetsEKS   = "eks"
	daemonSetsFiles = "files"
)

// The flags of settings that plans depend on.
const (
	policyFlag    = "policy"
	minValuesFlag = "min-values-policy"
	spreadFlag    = "default-topology-spread"
	ceilingFlag   = "max-dollars-per-hour"
)

// addPolicies adds the flags of settings that plans depend on.
func (f *planFlags) addPolicies(flags *flag.FlagSet) {
	flags.Var(
		oneOf(&f.policy, plan.PreferencesRespected, plan.PreferencesIgnored), policyFlag,
		"whether preferences count, `Respect|Ignore` (default: the deployment's, else Respect)",
	)
	flags.Var(
		oneOf(&f.minValuesPolicy, plan.MinValuesStrict, plan.MinValuesBestEffort), minValuesFlag,
		"whether minValues must be met, `Strict|BestEffort` (default: the deployment's, else Strict)",
	)
	flags.Func(
		spreadFlag,
		"`constraints` of pods that have none, a list in YAML or JSON as in the stack's setting defaultTopologySpread "+
			"(default: the deployment's, else none)",
		func(text string) (err error) { f.spread, err = spread.Parse(text); return err },
	)
	flags.Func(ceilingFlag, "most that the nodes of all NodePools cost together, in `dollars` an hour at list prices, as "+
		"in the stack's setting maxDollarsPerHour; 0 for no such limit (default: the deployment's, else none)",
		func(text string) (err error) { f.maxDollars, err = parseCeiling(text); return err })
}

// addOutcomes adds the flags that choose what is shown and what the exit code says.
func (f *planFlags) addOutcomes(flags *flag.FlagSet) {
	flags.BoolVar(
		&f.consolidate, "consolidate", false,
		"show the nodes to remove or replace to save money, and why others stay; change nothing",
	)
	flags.Func("diff", "show what changes from the plan of this `file` to that of -f; repeatable", appendTo(&f.against))
	flags.BoolVar(&f.exitCode, "exit-code", false, "end with code 3 if a pod has no place")
	flags.Func("max-price", "end with code 4 if the new nodes cost more than so many `dollars` an hour",
		func(text string) (err error) { f.maxPrice, err = parsePrice(text); return err })
}

// contradiction says which flags exclude each other; empty if none do.
func (f *planFlags) contradiction() string {
	read := slices.Concat(f.files, f.against, []string{f.instanceTypes})
	first := slices.Index(read, "-")
	switch {
	case len(f.files) > 0 && (f.kubeconfig != "" || f.kubecontext != ""):
		return "-f plans without a cluster: leave -kubeconfig and -context out"
	case first >= 0 && slices.Contains(read[first+1:], "-"):
		return "standard input can be read only once: pass - once"
	case f.instanceTypes != "" && f.prices != "":
		return "-instance-types has prices of its own: leave -prices out"
	case f.region != "" && f.prices != pricesAWS:
		return "-region is the region of -prices aws: add that"
	case f.daemonSets != "" && len(f.files) == 0:
		return "-daemon-sets is for files: a cluster has its own DaemonSets"
	}
	return cmp.Or(f.contradictionOfDiff(), f.reservedTwice())
}

// contradictionOfDiff says which flags exclude a comparison, or lack one.
func (f *planFlags) contradictionOfDiff() string {
	switch {
	case len(f.against) == 0 && f.output.kind == formMarkdown:
		return "-o markdown is for pull requests: name the files before the change with -diff"
	case len(f.against) > 0 && f.consolidate:
		return "-diff compares plans of new nodes, and no moves of consolidation: leave -consolidate or -diff out"
	case len(f.against) > 0 && len(f.files) == 0:
		return "-diff compares two sets of files: name the other with -f"
	}
	return ""
}

// reservedTwice says what else knows the free instances of capacity reservations; empty for nothing.
func (f *planFlags) reservedTwice() string {
	switch {
	case f.reserved == nil:
	case f.instanceTypes != "":
		return "-instance-types has reserved offerings of its own: leave -reserved out"
	case len(f.files) == 0:
		return "-reserved is for files: a cluster's catalogue goes with the free counts"
	}
	return ""
}

// follow takes the deployment's settings where no flag was given, and warns about flags that differ.
// told is nil where the deployment has told nothing.
func (f *planFlags) follow(told *status.Deployment, problems io.Writer) {
	if told == nil {
		return
	}
	follow(f, policyFlag, &f.policy, plan.PreferencePolicy(told.PreferencePolicy), problems)
	follow(f, minValuesFlag, &f.minValuesPolicy, plan.MinValuesPolicy(told.MinValuesPolicy), problems)
	switch {
	case !f.given[spreadFlag]:
		f.spread = told.DefaultTopologySpread
	case !reflect.DeepEqual(f.spread, told.DefaultTopologySpread):
		warn(problems, "-"+spreadFlag+" differs from the deployment's setting: Whittle would plan otherwise")
	}
	switch {
	case !f.given[ceilingFlag]:
		f.maxDollars = told.MaxDollarsPerHour
	case f.maxDollars != told.MaxDollarsPerHour:
		warn(problems, "-"+ceilingFlag+" differs from the deployment's setting: Whittle would plan otherwise")
	}
}

func follow[T ~string](f *planFlags, name string, value *T, deployed T, problems io.Writer) {
	switch {
	case deployed == "":
	case !f.given[name]:
		*value = deployed
	case *value != deployed:
		warn(problems, fmt.Sprintf("-%s %s differs from the deployment's %s: Whittle would plan otherwise", name, *value,
			deployed))
	}
}

func appendTo(list *[]string) func(string) error {
	return func(text string) error { *list = append(*list, text); return nil }
}

// parsePrice reads a price such as 12.50.
func parsePrice(text string) (float64, error) {
	price, err := strconv.ParseFloat(text, 64)
	if err != nil || !(price > 0) || math.IsInf(price, 0) {
		return 0, errors.New("write dollars an hour, such as 12.50")
	}
	return price, nil
}

// parseCeiling reads a price such as 12.50, or 0.
func parseCeiling(text string) (float64, error) {
	price, err := strconv.ParseFloat(text, 64)
	if err != nil || !(price >= 0 && price <= mostCeiling) {
		return 0, errors.New("write dollars an hour, such as 12.50, or 0 for no such limit")
	}
	return price, nil
}

// mostCeiling is the greatest maxDollarsPerHour of a deployment.
const mostCeiling = 1e9

// addReserved reads counts of free instances, such as cr-0a1b=3,cr-0c2d=0.
func (f *planFlags) addReserved(text string) error {
	if f.reserved == nil {
		f.reserved = map[string]int{}
	}
	for part := range strings.SplitSeq(text, ",") {
		id, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		count, err := strconv.Atoi(number)
		if err != nil || count < 0 || !strings.HasPrefix(id, "cr-") {
			return fmt.Errorf("%q is no count of a capacity reservation: write such as cr-0a1b=3", part)
		}
		f.reserved[id] = count
	}
	return nil
}

func usageProblem(problems io.Writer, format string, arguments ...any) error {
	fmt.Fprintf(problems, format+"\n", arguments...)
	return errUsage
}

// oneOf sets a flag that accepts a few values.
func oneOf[T ~string](value *T, values ...T) choice {
	var names []string
	for _, v := range values {
		names = append(names, string(v))
	}
	return choice{names, func(text string) error {
		if !slices.Contains(names, text) {
			return fmt.Errorf("want %s%s", strings.Join(names, " or "), meant(text, names))
		}
		*value = T(text)
		return nil
	}}
}
