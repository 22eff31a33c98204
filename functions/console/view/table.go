package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/whittle-dev/whittle/shared/api"
)

const (
	// maximumPods is how many pods a table shows: the first tell what is wrong.
	maximumPods = 50
	// oldAfter is when a catalogue has missed more than one of its hourly readings.
	oldAfter = 2*time.Hour + 10*time.Minute
	none     = "-"
)

// WriteTables writes the view for people.
func (v *View) WriteTables(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(table, strings.Join(cells, "\t")) }

	if v.StandsBack != "" {
		row("STANDING BACK: Karpenter acts in this cluster (" + v.StandsBack + "): scale its Deployment to 0 to let Whittle act")
		row()
	}
	row("NODEPOOL", "NODECLASS", "NODES", "CPU", "MEMORY", "LIMITS", "READY", "WHY NOT")
	for _, pool := range v.NodePools {
		row(pool.Name, dash(pool.NodeClass), strconv.Itoa(pool.Nodes), cores(pool.CPU), gibibytes(pool.Memory), limits(pool.Limits), yes(pool.Ready),
			dash(strings.Join(pool.Reasons, "; ")))
	}
	if len(v.NodePools) == 0 {
		row("none: without a NodePool no node is launched; apply one and an EC2NodeClass")
	}
	row()
	row("NODECLAIM", "NODE", "NODEPOOL", "TYPE", "CAPACITY", "ZONE", "AGE", "STATE", "$/HOUR", "PODS", "CPU", "MEMORY", "NOTE")
	for _, node := range v.Nodes {
		row(dash(node.NodeClaim), dash(node.Name), dash(node.NodePool), dash(node.InstanceType), dash(node.CapacityType), dash(node.Zone),
			v.age(node.Created), string(node.State), dollars(node.PricePerHour), strconv.Itoa(node.Pods),
			cores(node.Requested.CPU)+" of "+cores(node.Allocatable.CPU), gibibytes(node.Requested.Memory)+" of "+gibibytes(node.Allocatable.Memory), dash(node.Reason))
	}
	if len(v.Nodes) == 0 {
		row("none")
	}
	row()
	row("WAITING POD", "AGE", "SAYS", "MESSAGE")
	for i, pod := range v.Waiting {
		if i == maximumPods {
			row(fmt.Sprintf("and %d more: -output json has all", len(v.Waiting)-maximumPods))
			break
		}
		row(pod.Namespace+"/"+pod.Name, v.age(pod.Created), dash(pod.Source), dash(pod.Message))
	}
	if len(v.Waiting) == 0 {
		row("none")
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the tables: %w", err)
	}
	_, err := fmt.Fprintf(out, "\n%s\n%s\n", v.sum(), v.catalog())
	return err
}

func (v *View) sum() string {
	text := fmt.Sprintf("Instances of Whittle's: %d, %.4f $ an hour", v.Instances, v.PricePerHour)
	if v.Unpriced > 0 {
		text += fmt.Sprintf(", without %d whose price is not known", v.Unpriced)
	}
	return text
}

func (v *View) catalog() string {
	if v.Catalog == nil {
		return "Catalogue: none yet, so that nothing can be launched and no price is known: invoke the catalog function, or read its log"
	}
	text := fmt.Sprintf("Catalogue: %d instance types, %s old", v.Catalog.InstanceTypes, v.age(v.Catalog.Time))
	if v.Time.Sub(v.Catalog.Time) > oldAfter {
		text += "; it is read each hour: see the log of the catalog function"
	} else if v.Time.Sub(v.Catalog.SpotPriceTime) > oldAfter && !v.Catalog.SpotPriceTime.IsZero() {
		text += fmt.Sprintf("; spot prices %s old: see the log of the catalog function", v.age(v.Catalog.SpotPriceTime))
	}
	return text
}

func (v *View) age(since time.Time) string {
	return duration.HumanDuration(max(v.Time.Sub(since), 0))
}

func dash(text string) string {
	if text == "" {
		return none
	}
	return text
}

func yes(ready bool) string {
	if ready {
		return "yes"
	}
	return "no"
}

func dollars(price float64) string {
	if price == 0 {
		return none
	}
	return strconv.FormatFloat(price, 'f', 4, 64)
}

// cores writes CPU with at most two decimals: 1.93.
func cores(quantity resource.Quantity) string {
	return decimals(float64(quantity.MilliValue())/1000, 2)
}

// gibibytes writes memory with at most one decimal: 7.6Gi.
func gibibytes(quantity resource.Quantity) string {
	if quantity.IsZero() {
		return "0"
	}
	return decimals(float64(quantity.Value())/(1<<30), 1) + "Gi"
}

func decimals(value float64, places int) string {
	text := strconv.FormatFloat(value, 'f', places, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func limits(limits api.Limits) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		quantity := limits[name]
		text := quantity.String()
		switch name {
		case corev1.ResourceCPU:
			text = cores(quantity)
		case corev1.ResourceMemory:
			text = gibibytes(quantity)
		}
		parts = append(parts, string(name)+" "+text)
	}
	return dash(strings.Join(parts, ", "))
}
