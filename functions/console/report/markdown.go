package report

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// The lengths of lists in Markdown. A comment of GitHub has at most 65,536 characters.
const (
	markdownRows = 50
	markdownPods = 50
	// markdownReason bounds a reason of a pod without a place.
	markdownReason = 400
)

// MarkdownMark begins each text, so that a pipeline finds its own comment.
const MarkdownMark = "<!-- whittle plan -->"

// WriteMarkdown writes what changes for reviewers of a pull request: the price first, then the nodes, and
// pods without a place with their reasons. Lists of pods are folded.
func (d *Diff) WriteMarkdown(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n### Nodes: %s\n\n", MarkdownMark, d.headline())
	fmt.Fprintf(&text, "| | before | after | change |\n| --- | ---: | ---: | ---: |\n")
	price, nodes := d.PricesPerHour, d.NodeCounts
	change := unsigned(price.After - price.Before)
	fmt.Fprintf(&text, "| $/h | %s | %s | %+.4f |\n", dollars(price.Before), dollars(price.After), change)
	fmt.Fprintf(&text, "| $/month (%d h) | %.2f | %.2f | %+.2f |\n", hoursPerMonth, price.Before*hoursPerMonth,
		price.After*hoursPerMonth, change*hoursPerMonth)
	fmt.Fprintf(&text, "| new nodes | %d | %d | %+d |\n", nodes.Before, nodes.After, nodes.After-nodes.Before)
	d.markdownNodes(&text)
	if len(d.LosePlace) > 0 {
		fmt.Fprintf(&text, "\n**%s without a place now:** %s\n", count(len(d.LosePlace), "pod"),
			codes(d.LosePlace, namesShown))
		d.markdownReasons(&text)
	}
	if len(d.StillNoPlace) > 0 {
		fmt.Fprintf(&text, "\n%s without a place before and after: %s\n", count(len(d.StillNoPlace), "pod"),
			codes(d.StillNoPlace, namesShown))
	}
	for _, list := range []struct {
		title string
		pods  []string
	}{{"with a place now", d.GainPlace}, {"added", d.Added}, {"removed", d.Removed}} {
		if len(list.pods) > 0 {
			folded(&text, count(len(list.pods), "pod")+" "+list.title, codes(list.pods, markdownPods))
		}
	}
	var notes []string
	if d.Prices != "" {
		notes = append(notes, "Prices: "+plain(d.Prices)+".")
	}
	if len(d.DaemonSets) > 0 {
		notes = append(notes, "Each node also runs "+codes(d.DaemonSets, namesShown)+", as in EKS clusters.")
	}
	if len(notes) > 0 {
		fmt.Fprintf(&text, "\n<sub>%s</sub>\n", strings.Join(notes, " "))
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// headline says in a few words what a reviewer has to know.
func (d *Diff) headline() string {
	price := d.PricesPerHour
	change := price.After - price.Before
	words := "the price stays"
	if math.Abs(change) >= 0.00005 {
		words = fmt.Sprintf("%+.4f $/h", change)
		if price.Before > 0 {
			words += fmt.Sprintf(" (%+.0f %%)", unsigned(math.Round(100*change/price.Before)))
		}
	}
	if len(d.LosePlace) > 0 {
		words += ", and " + count(len(d.LosePlace), "pod") + " without a place"
	}
	return words
}

// unsigned is a number without the sign of a negative zero.
func unsigned(number float64) float64 {
	if math.Abs(number) < 0.00005 {
		return 0
	}
	return number
}

func (d *Diff) markdownNodes(text *strings.Builder) {
	if len(d.Nodes) == 0 {
		text.WriteString("\nThe plans have the same nodes.\n")
		return
	}
	text.WriteString("\n| NodePool | type | zone | capacity | $/h each | nodes | change of $/h |\n" +
		"| --- | --- | --- | --- | ---: | ---: | ---: |\n")
	for i, n := range d.Nodes {
		if i == markdownRows {
			fmt.Fprintf(text, "\n%s more.\n", count(len(d.Nodes)-i, "kind"))
			return
		}
		fmt.Fprintf(text, "| %s | %s | %s | %s | %s | %d → %d | %+.4f |\n", cell(n.NodePool), cell(n.InstanceType),
			cell(n.Zone), cell(n.CapacityType), dollars(n.PricePerHour), n.Before, n.After,
			n.PricePerHour*float64(n.After-n.Before))
	}
}

// markdownReasons writes each reason once, with its pods.
func (d *Diff) markdownReasons(text *strings.Builder) {
	var order []string
	pods := map[string][]string{}
	for _, u := range d.Reasons {
		for _, reason := range u.Reasons {
			key := reason.Reason
			if reason.NodePool != "" {
				key = fmt.Sprintf("NodePool %q: %s", reason.NodePool, key)
			}
			if pods[key] == nil {
				order = append(order, key)
			}
			pods[key] = append(pods[key], u.Pod)
		}
	}
	var lines strings.Builder
	for i, reason := range order {
		if i == markdownRows {
			fmt.Fprintf(&lines, "* %s more\n", count(len(order)-i, "reason"))
			break
		}
		fmt.Fprintf(&lines, "* %s: %s\n", codes(pods[reason], namesShown), code(cut(reason)))
	}
	if lines.Len() > 0 {
		folded(text, "why", strings.TrimSuffix(lines.String(), "\n"))
	}
}

func cut(reason string) string {
	if runes := []rune(reason); len(runes) > markdownReason {
		return string(runes[:markdownReason]) + "…"
	}
	return reason
}

// folded is a section that a reader opens.
func folded(text *strings.Builder, title, content string) {
	fmt.Fprintf(text, "\n<details><summary>%s</summary>\n\n%s\n\n</details>\n", title, content)
}

// codes lists names; beyond the most it says how many there are.
func codes(names []string, most int) string {
	var shown []string
	for i, name := range names {
		if i == most {
			return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), len(names)-most)
		}
		shown = append(shown, code(name))
	}
	return strings.Join(shown, ", ")
}

// code is a text of a manifest as code, so that nothing in it is Markdown, HTML or a mention.
func code(text string) string {
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "'")), " ")
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// cell is a code in a table.
func cell(text string) string { return strings.ReplaceAll(code(text), "|", `\|`) }

// plain is a text without what Markdown and HTML give a meaning to.
func plain(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return strings.ContainsRune("<>&`*_[]|@#\n", r)
	}), "")
}
