package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/whittle-dev/whittle/functions/console/report"
)

// markdownOf returns the Markdown of a difference, and the HTML that it becomes.
func markdownOf(t *testing.T, d *report.Diff) (text, page string) {
	t.Helper()
	var written strings.Builder
	if err := d.WriteMarkdown(&written); err != nil {
		t.Fatal(err)
	}
	var rendered bytes.Buffer
	reader := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := reader.Convert([]byte(written.String()), &rendered); err != nil {
		t.Fatal(err)
	}
	return written.String(), rendered.String()
}

func TestMarkdown(t *testing.T) {
	node := func(instanceType string, price float64, pods ...string) report.Node {
		return report.Node{
			NodePool: "a", InstanceType: instanceType, Zone: "z", CapacityType: "spot", PricePerHour: price, Pods: pods,
		}
	}
	before := &report.Plan{Nodes: []report.Node{node("m5.large", 0.1, "x/1"), node("c5.large", 0.2, "x/2")},
		PricePerHour: 0.3}
	after := &report.Plan{
		Nodes:        []report.Node{node("m5.large", 0.1, "x/1"), node("m5.large", 0.1, "x/3"), node("m5.large", 0.1, "x/4")},
		PricePerHour: 0.24, Prices: "built in",
		Unschedulable: []report.Unschedulable{{Pod: "x/2", Reasons: []report.Reason{
			{NodePool: "a", Reason: "limit of cpu 2 | reached"}, {NodePool: "b", Reason: "<b>@team</b> `code` *bold*"},
		}}},
	}
	after.Assume(report.Assumed{DaemonSets: []string{"kube-system/kube-proxy"}})
	d := report.DiffOf(before, after)
	d.Assumed = after.Assumed
	text, page := markdownOf(t, d)
	for _, want := range []string{
		report.MarkdownMark + "\n### Nodes: -0.0600 $/h (-20 %), and 1 pod without a place\n",
		"| $/h | 0.3000 | 0.2400 | -0.0600 |\n| $/month (730 h) | 219.00 | 175.20 | -43.80 |\n| new nodes | 2 | 3 | +1 |\n",
		"| `a` | `c5.large` | `z` | `spot` | 0.2000 | 1 → 0 | -0.2000 |\n",
		"| `a` | `m5.large` | `z` | `spot` | 0.1000 | 1 → 3 | +0.2000 |\n",
		"**1 pod without a place now:** `x/2`", "<summary>2 pods added</summary>\n\n`x/3`, `x/4`\n",
		"<sub>Prices: built in. Each node also runs `kube-system/kube-proxy`, as in EKS clusters.</sub>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	for _, want := range []string{
		"<td><code>c5.large</code></td>", "<code>NodePool &quot;a&quot;: limit of cpu 2 | reached</code>",
		"<code>NodePool &quot;b&quot;: &lt;b&gt;@team&lt;/b&gt; 'code' *bold*</code>", `<td align="right">+0.2000</td>`,
	} {
		if !strings.Contains(strings.ReplaceAll(page, `style="text-align:right"`, `align="right"`), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Count(page, "<table>") != 2 || strings.Count(page, "<details>") != strings.Count(page, "</details>") {
		t.Errorf("the page is\n%s", page)
	}
	same, _ := markdownOf(t, report.DiffOf(after, after))
	if !strings.Contains(same, "### Nodes: the price stays\n") || !strings.Contains(same,
		"The plans have the same nodes.") ||
		strings.Contains(same, "without a place now") || !strings.Contains(same,
		"1 pod without a place before and after: `x/2`") ||
		strings.Contains(same, "-0.00") {
		t.Errorf("without a change it is\n%s", same)
	}
}

// TestMarkdownFitsAComment has thousands of pods and kinds, and names that would end a cell or a code.
func TestMarkdownFitsAComment(t *testing.T) {
	before, after := &report.Plan{}, &report.Plan{PricePerHour: 1}
	for i := range 3000 {
		pod := fmt.Sprintf("namespace/a-pod-with-a-long-name-%d", i)
		after.Nodes = append(after.Nodes, report.Node{
			NodePool: "p|`<script>\n", InstanceType: fmt.Sprintf("type-%d", i), Pods: []string{pod},
		})
		after.Unschedulable = append(after.Unschedulable, report.Unschedulable{Pod: pod + "-waits", Reasons: []report.Reason{
			{Reason: fmt.Sprintf("%d %s", i, strings.Repeat("long ", 300))},
		}})
	}
	text, page := markdownOf(t, report.DiffOf(before, after))
	if len(text) > 65_536 {
		t.Errorf("%d characters", len(text))
	}
	for _, want := range []string{"2950 kinds more.", "2950 reasons more", "and 5950 more",
		"<code>p|'&lt;script&gt;</code>"} {
		if !strings.Contains(text+page, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Contains(page, "<script>") {
		t.Error("a name is HTML")
	}
}
