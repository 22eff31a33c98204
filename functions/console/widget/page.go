package widget

import (
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

const (
	// maximumNodes limits the table of nodes. Nodes that are not ready come first.
	maximumNodes = 250
	// maximumGroups limits the table of pending pods to so many reasons.
	maximumGroups = 25
)

// page is the template's input. Its texts are final.
type page struct {
	Options
	Styles  template.CSS
	Failure string // the page has nothing else

	Time      string
	Choices   []choice
	Tiles     []tile
	Charts    []chart
	Past      *past
	Pools     []pool
	Nodes     []node
	Left      int  // nodes that the table leaves out
	LeftAmiss bool // some of these are not ready
	Waiting   []group
	Unsaid    int // pods in groups that the table leaves out
	Plan      *lastPlan
	Limits    *limits
	Committed *commitments
	Ending    []string // commitments that end soon
	Standby   string   // the Karpenter that acts instead
	Shifted   []view.ShiftedZone
	Frozen    []view.Freeze
	Ignored   []string // Leases of Karpenter's name that do not count
	Silent    string   // why no function seems to act
	Problems  []string // what a person may have to look at
	Catalog   string
	Stale     bool // the catalogue
}

// choice is a button: one node pool, all of them, or a refresh.
type choice struct {
	Text   string
	Event  string // JSON that the function is called with
	Chosen bool
}

// tile is a figure with a title and a note.
type tile struct {
	Name, Value, Unit, Note string
	Class                   string
	Tone                    string // a class: good, warn or nothing
	Meter                   *meter // instead of a plain value
}

// meter is a fraction as a bar.
type meter struct {
	Percent  int // 0 to 100
	Part, Of string
}

type pool struct {
	Name, NodeClass, CPU, Memory, Limits, Price, Extras, Why string
	Nodes                                                    int
	Ready                                                    bool
}

type node struct {
	Claim, Prefix, Suffix, Name, Domain, Type, Capacity, Zone, Age, Why string
	Price, Extras                                                       string
	State                                                               string
	Tone                                                                string
	Pods                                                                int
	CPU, Memory                                                         *meter
}

func pageOf(shown *view.View, options Options) page {
	p := page{
		Options: options, Time: shown.Time.UTC().Format("15:04:05"), Catalog: shown.CatalogText(),
		Standby: shown.Standby, Ignored: shown.IgnoredLeases, Shifted: shown.ShiftedZones, Frozen: shown.Freezes,
		Stale: shown.CatalogStale(),
	}
	p.addProblems(shown)
	if options.Endpoint != "" {
		p.Choices = choices(shown, options.NodePool)
	}
	p.Charts = charts(shown)
	p.Past = pastOf(shown)
	if options.NodePool != "" {
		shown = shown.Of(options.NodePool)
	}
	p.Tiles = tiles(shown)
	for i := range shown.NodePools {
		p.Pools = append(p.Pools, poolOf(&shown.NodePools[i]))
	}
	p.addNodes(shown)
	p.Waiting, p.Unsaid = groups(shown)
	p.Plan = planOf(shown)
	p.Limits, p.Committed = limitsOf(shown), commitmentsOf(shown)
	p.Ending = shown.Endings()
	return p
}

// maximumProblems limits the problems at the top, so that the figures stay in sight.
const maximumProblems = 4

// addProblems adds what is wrong with the whole cluster. Leases that are ignored have a place of their
// own, and so has an old catalogue.
func (p *page) addProblems(shown *view.View) {
	if shown.Verdict.Acting == view.Silent {
		p.Silent = shown.Verdict.Why
	}
	var all []string
	for _, problem := range shown.Problems {
		if problem != p.Catalog && !slices.ContainsFunc(p.Ignored, func(why string) bool {
			return strings.HasPrefix(problem, why)
		}) {
			all = append(all, problem)
		}
	}
	p.Problems = all[:min(len(all), maximumProblems)]
	if more := len(all) - maximumProblems; more > 0 {
		p.Problems = append(p.Problems, fmt.Sprintf("and %d more: bin/whittle status has all", more))
	}
}

func choices(shown *view.View, chosen string) []choice {
	var list []choice
	add := func(text, nodePool string, isChosen bool) {
		// Encoding a map of strings cannot fail.
		encoded, _ := json.Marshal(map[string]string{"nodePool": nodePool})
		list = append(list, choice{Text: text, Event: string(encoded), Chosen: isChosen})
	}
	if len(shown.NodePools) > 1 || chosen != "" {
		add("all pools", "", chosen == "")
		for _, pool := range shown.NodePools {
			add(pool.Name, pool.Name, pool.Name == chosen)
		}
	}
	add("refresh", chosen, false)
	return list
}

func poolOf(shown *view.NodePool) pool {
	return pool{
		Name: shown.Name, NodeClass: shown.NodeClass, Nodes: shown.Nodes, CPU: view.Cores(shown.CPU),
		Memory: view.Gibibytes(shown.Memory),
		Limits: shown.LimitsText(), Price: dollars(shown.PricePerHour),
		Extras: dollars(shown.ExtrasPerHour), Ready: shown.Ready,
		Why: strings.Join(shown.Reasons, "; "),
	}
}

// addNodes adds the rows of the table of nodes.
func (p *page) addNodes(shown *view.View) {
	room := maximumNodes // for those that are ready
	for i := range shown.Nodes {
		if shown.Nodes[i].State != nodestate.Ready {
			room--
		}
	}
	for i := range shown.Nodes {
		one := &shown.Nodes[i]
		ready := one.State == nodestate.Ready
		if ready && room <= 0 || len(p.Nodes) == maximumNodes {
			p.Left++
			p.LeftAmiss = p.LeftAmiss || !ready
			continue
		}
		if ready {
			room--
		}
		p.Nodes = append(p.Nodes, nodeOf(shown, one))
	}
}

func nodeOf(shown *view.View, of *view.Node) node {
	name, domain, _ := strings.Cut(of.Name, ".")
	// Claims of one pool differ at the end of their names, so long names lose their middle.
	prefix, suffix := of.NodeClaim, ""
	if rest, ok := strings.CutPrefix(of.NodeClaim, of.NodePool+"-"); ok {
		prefix, suffix = of.NodePool, "-"+rest
	}
	row := node{
		Claim: of.NodeClaim, Prefix: prefix, Suffix: suffix, Name: name, Domain: domain, Type: of.InstanceType,
		Capacity: of.CapacityType, Zone: of.Zone,
		Age: shown.Age(of.Created), Price: dollars(of.PricePerHour), Extras: dollars(of.ExtrasPerHour),
		Pods: of.Pods, State: string(of.State), Why: of.Reason,
		Tone: string(nodestate.ToneOf(of.State)),
	}
	if !of.Allocatable.CPU.IsZero() {
		row.CPU = &meter{
			percent(of.Requested.CPU.AsApproximateFloat64(), of.Allocatable.CPU.AsApproximateFloat64()), cores(of.Requested.CPU),
			cores(of.Allocatable.CPU),
		}
	}
	if !of.Allocatable.Memory.IsZero() {
		row.Memory = &meter{
			percent(of.Requested.Memory.AsApproximateFloat64(), of.Allocatable.Memory.AsApproximateFloat64()),
			gibibytes(of.Requested.Memory), gibibytes(of.Allocatable.Memory),
		}
	}
	return row
}

// percent returns the fraction in percent, rounded, at most 100.
func percent(part, whole float64) int {
	if whole <= 0 {
		return 0
	}
	return min(100, max(0, int(part/whole*100+0.5)))
}

func dollars(price float64) string {
	if price == 0 {
		return ""
	}
	return strconv.FormatFloat(price, 'f', 4, 64)
}

// cores and gibibytes have a fixed number of decimals, so that the points align.
func cores(quantity resource.Quantity) string {
	return strconv.FormatFloat(quantity.AsApproximateFloat64(), 'f', 1, 64)
}

func gibibytes(quantity resource.Quantity) string {
	return strconv.FormatFloat(quantity.AsApproximateFloat64()/(1<<30), 'f', 1, 64)
}

func count(number int, one, many string) string {
	if number == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", number, many)
}
