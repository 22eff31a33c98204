package shared_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/shared/consolidation/settings"
	"github.com/whittle-dev/whittle/shared/metrics"
)

// claim is a number that stands on pages. Each of its places has to have the value of its source.
type claim struct {
	name string
	// places are expressions over a page whose words are one blank apart. Each has one group, the number,
	// and has to match on some page.
	places []string
	// value is the number by its source.
	value float64
}

// TestPagesAgreeWithTheirSources holds each occurrence of a number on all pages to its one source: the code,
// or a table that code writes.
func TestPagesAgreeWithTheirSources(t *testing.T) {
	texts := map[string]string{}
	for path, page := range pages(t) {
		texts[path] = blanks.ReplaceAllString(string(page.source), " ")
	}
	for _, c := range slices.Concat(claimsOfCost(t, texts), claimsOfTheStack(t), claimsOfTimes(t), claimsOfTools(t),
		claimsOfBenchmarks(t, texts)) {
		for _, fault := range c.faults(texts) {
			t.Errorf("%s: %s", c.name, fault)
		}
	}
}

// claimsOfCost have the table of the deployment page as their source, which the cost of the stack writes.
func claimsOfCost(t *testing.T, texts map[string]string) []claim {
	t.Helper()
	prices := constantsOf(t, "../infra")
	row := func(part string) float64 { return costOf(t, texts["infra/README.md"], part) }
	return []claim{
		{
			name:   "dollars of an idle month",
			places: []string{`idle cluster \| about \$([\d.]+)/month`, `Whittle costs about \$([\d.]+)/month`},
			value:  row("**sum of an idle cluster with the defaults**, and a free dashboard"),
		},
		{
			name:   "dollars of a month of metrics and alarms",
			places: []string{`of which \$([\d.]+) are metrics and alarms`},
			value:  row("`alarms: true`, which evaluate") + row("`metrics: few`"),
		},
		{
			name: "dollars of an idle month of functions, queues and logs",
			places: []string{
				`Functions, queues and logs cost \$([\d.]+)/month`, `\| idle \|(?: \$[\d.]+ \|){3} \$([\d.]+) \|`,
			},
			value: row("functions, queues and logs of an idle cluster"),
		},
		{
			name:   "dollars of a month of launches",
			places: []string{`for the launches and ends \|(?: \$[\d.]+ \|){3} \$([\d.]+) \|`},
			value:  row("the same for 2,000 launches"),
		},
		{
			name:   "dollars of a month with 500 nodes",
			places: []string{`cost with 500 nodes \| about \$(\d+)/month`},
			value:  math.Round(row("**sum of 500 nodes with the defaults**")),
		},
		{
			name: "dollars of a month of a watch",
			places: []string{
				"`always` \\$([\\d.]+)/month", "`always` never ends the watch, for \\$([\\d.]+)/month",
				`would run always, at \$([\d.]+)/month`, `It costs \$([\d.]+)/month if it runs always`,
			},
			value: row("the same with `always`"),
		},
		{
			name: "dollars of an hour of a watch", places: []string{`128 MB for an hour cost \$([\d.]+) of Lambda`},
			value: row("a watch, for each hour of work"),
		},
		{
			name: "dollars of a month of pollers", places: []string{`million times a month, which costs \$([\d.]+) `},
			value: row("five pollers at the three queues"),
		},
		{
			name:   "dollars of a month of all metrics",
			places: []string{`\(\.\./shared/metrics/README\.md\) for \$([\d.]+)/month`},
			value:  row("`metrics: full`"),
		},
		{
			name:   "dollars of a month of a dashboard",
			places: []string{`The dashboard is \$([\d.]+) more, beyond the account's first three`},
			value:  row("`dashboard: true`"),
		},
		{
			name:   "dollars of an hour of a NAT gateway",
			places: []string{`a NAT gateway \$([\d.]+)\.`},
			value:  prices.of("gatewayMonth") / prices.of("hoursOfMonth"),
		},
	}
}

// claimsOfTheStack count parts of the stack, of its queues and of its metrics.
func claimsOfTheStack(t *testing.T) []claim {
	t.Helper()
	queues := constantsOf(t, "../infra")
	resources := resourcesOfTheSnapshot(t)
	return []claim{
		{name: "resources", places: []string{`a line for each of (\d+) resources`}, value: resources},
		{
			name:   "resources with the stack itself",
			places: []string{`Whittle-prod \| (\d+)/\d+ \| CREATE_COMPLETE`, `Whittle-prod \| \d+/(\d+) \| CREATE_COMPLETE`},
			value:  resources + 1,
		},
		{
			name:   "series of all metrics",
			places: []string{"`full` has (\\d+) series", "`metrics: full`, (\\d+) series"},
			value:  float64(metrics.DetailFull.Series()),
		},
		{name: "greatest number of series", places: []string{`the limit of (\d+) series`}, value: metrics.MaximumSeries},
		{
			name:   "tries of a message",
			places: []string{`After (\w+) tries, and after a hundred of interrupt`, `After (\w+) tries a message is in`},
			value:  queues.of("maximumReceives"),
		},
		{
			name:   "tries of a message of interrupt",
			places: []string{`after a (\w+) of interrupt`, `After (\d+) tries, which take some 25 minutes`},
			value:  queues.of("interruptReceives"),
		},
		{
			name:   "minutes until a batch comes back",
			places: []string{`comes back after (\d+) minutes, the queue's visibility timeout`},
			value:  queues.of("visibilityFactor") * queues.of("workTimeout") / float64(time.Minute),
		},
		{
			name: "seconds until a message of interrupt comes back",
			places: []string{
				`messages come back (\d+) seconds after it received them`, `failed messages\. They come back after (\d+) s`,
			},
			value: queues.of("interruptVisibilityFactor") * queues.of("interruptTimeout") / float64(time.Second),
		},
		{
			name: "minutes until an installation without an answer fails",
			places: []string{
				`the deployment fails there after (\w+) minutes`, `deployment without it fails after (\w+) minutes`,
			},
			value: queues.of("installTimeout") / float64(time.Minute),
		},
		{
			name:   "minutes until an event is undelivered",
			places: []string{"whittle-CLUSTER-undelivered` after (\\w+) minutes"},
			value:  queues.of("deliverFor") / float64(time.Minute),
		},
		{
			name:   "minutes of an invocation of watch",
			places: []string{`Each invocation has (\w+) minutes`, `to its successor before its (\w+) minutes end`},
			value:  queues.of("watchTimeout") / float64(time.Minute),
		},
	}
}

// claimsOfTimes are times of the functions.
func claimsOfTimes(t *testing.T) []claim {
	t.Helper()
	stack, ticker := constantsOf(t, "../infra"), constantsOf(t, "../functions/ticker")
	lifecycle, claims := constantsOf(t, "../functions/lifecycle"), constantsOf(t, "../functions/lifecycle/nodeclaim")
	disruption, shown := constantsOf(t, "disruption"), constantsOf(t, "../functions/console/view")
	cluster, launch := constantsOf(t, "cluster"), constantsOf(t, "launch")
	frozen := constantsOf(t, "freeze")
	seconds := func(of float64) float64 { return of / float64(time.Second) }
	minutes := func(of float64) float64 { return of / float64(time.Minute) }
	return []claim{
		{
			name: "seconds of a tick",
			places: []string{
				`rest of a tick of (\d+) s`, `one each (\d+) s`, `Ticker fills it every (\d+) s`,
				`act on ticks: provision each (\d+) s`,
				`with ticks each (\d+) s`, `its default tick of (\d+) s`, `Ticks come each (\d+) s`, `default of (\d+) s:`,
				"`interval` \\| `(\\d+)s`",
			},
			value: seconds(stack.of("defaultInterval")),
		},
		{
			name:   "minutes for which a reading of alarms counts",
			places: []string{`not read for (\d+) minutes \| freezes`, `For (\d+) minutes the last reading counts`},
			value:  minutes(frozen.of("AlarmsBelieved")),
		},
		{
			name:   "alarms that may freeze",
			places: []string{`up to (\d+) CloudWatch alarms`, `more than (\d+) alarms`},
			value:  frozen.of("MaximumAlarms"),
		},
		{
			name:   "hours of a freeze by an event",
			places: []string{`Without it (\w+) hour after the event`},
			value:  frozen.of("OrderLasts") / float64(time.Hour),
		},
		{
			name:   "freezes by events",
			places: []string{`at most (\d+) freezes`},
			value:  frozen.of("maximumOrders"),
		},
		{
			name:   "seconds between two looks of disrupt",
			places: []string{`Disrupt looks each (\d+) s`, `sees an empty node within (\d+) s`},
			value:  seconds(ticker.of("disruptEvery") * stack.of("defaultInterval")),
		},
		{
			name: "quiet minutes after which a watch ends",
			places: []string{
				`first work after (\w+) quiet minutes`, "`quietAfter` \\((\\w+) minutes\\)",
				`ends (\w+) minutes after the last work`,
				`without work for (\w+) minutes, after which the watch ends`, "`quietAfter` \\| `(\\d+)m`",
			},
			value: minutes(stack.of("defaultQuietAfter")),
		},
		{
			name: "minutes until a claim without an instance goes",
			places: []string{
				`no instance after (\w+) minutes, no node after`, `claims without an instance after (\w+) minutes`,
				`got no instance in (\w+) minutes, or its node`, `Lifecycle deletes the claim after (\w+) min`,
			},
			value: minutes(claims.of("launchTimeout")),
		},
		{
			name: "minutes until a node that has not joined goes",
			places: []string{
				`minutes, no node after (\w+) \(both on ticks\)`, `nodes that have not joined, which takes (\w+) minutes`,
				`does not join within (\w+) minutes goes`, `did not join in (\d+)\.`,
				`Whittle waits (\w+) minutes for a machine that never joins`,
				`Lifecycle replaces it after (\w+) minutes`,
			},
			value: minutes(claims.of("registrationTimeout")),
		},
		{
			name: "seconds of lifecycle's Lease",
			places: []string{
				"`whittle-lifecycle` separates them, for at most (\\d+) s",
				"`whittle-system/whittle-lifecycle`, for (\\d+) s at most",
				`It lasts (\d+) s at most, and a pass of a tick`,
			},
			value: seconds(lifecycle.of("leaseFor")),
		},
		{
			name: "seconds by which clocks differ",
			places: []string{
				`Others wait (\w+) s longer, because clocks differ`, `Others wait (\w+) seconds longer than the Lease says`,
				`at most 10 s, and (\d+) s for clocks that differ`,
			},
			value: seconds(cluster.of("clockLeeway")),
		},
		{
			name:   "seconds for which Karpenter's Lease counts",
			places: []string{`after its renewal, for at most (\w+) seconds`},
			value:  seconds(cluster.of("maximumLeaseDuration") + cluster.of("clockLeeway")),
		},
		{
			name:   "seconds of a pod that has begun to wait",
			places: []string{`began to wait less than (\d+) s ago`},
			value:  seconds(disruption.of("recentlyPending")),
		},
		{
			name: "seconds until a launch is planned again",
			places: []string{
				`After (\d+) s without a trace it gives the claim up`, `is planned again after (\d+) s, and its instances`,
				`does not say for (\d+) s what a launch did`,
			},
			value: seconds(launch.of("SettledAfter")),
		},
		{
			name:   "minutes of a silent deployment",
			places: []string{`no tick for (\w+) minutes`, `nothing has told of a tick for (\w+) minutes`},
			value:  minutes(shown.of("silentAfter")),
		},
		{
			name:   "minutes of a pod that waits too long",
			places: []string{`pods that have waited for (\w+) minutes`},
			value:  minutes(shown.of("unservedAfter")),
		},
		{
			name: "minutes for which consolidation lets a node settle",
			places: []string{
				`The settle time is (\w+) minutes`, `lets a node settle for (\w+) minutes`, "settle-time` \\| `(\\d+)m`",
			},
			value: minutes(float64(settings.DefaultSettleTime)),
		},
	}
}

// claimsOfTools are versions, and the size of the built-in table.
func claimsOfTools(t *testing.T) []claim {
	t.Helper()
	types, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	const machine = `(?m)^\| your machine \| Linux, Go [\d.]+, Node (\d+) or later`
	return []claim{
		{
			name:   "types of the built-in table",
			places: []string{`uses the built-in table: ([\d,]+) types`, `The \[([\d,]+) instance types\]`},
			value:  float64(len(types)),
		},
		{
			name: "version of Go", places: []string{`Linux,? (?:with )?Go ([\d.]+),`},
			value: matchIn(t, "../go.mod", `(?m)^go (\d+\.\d+)`),
		},
		{
			name: "version of Node", places: []string{`Node (\d+) or later`, `The local world also needs Node (\d+)`},
			value: matchIn(t, "../README.md", machine),
		},
		{
			name: "version of Kubernetes in the tests", places: []string{`The tests run Kubernetes ([\d.]+) `},
			value: matchIn(t, "../testdata/controlplane/go.mod", `k8s\.io/kubernetes v(\d+\.\d+)`),
		},
		{
			name:   "version of Karpenter after v1.",
			places: []string{`Karpenter is v1\.([\d.]+) in one cluster`, `with Karpenter v1\.([\d.]+)'s own scheduler`},
			value:  matchIn(t, "../testdata/peer/go.mod", `sigs\.k8s\.io/karpenter v1\.(\d+\.\d+)`),
		},
	}
}

// claimsOfBenchmarks are measured. Their source is the page or the file that has the measurement.
func claimsOfBenchmarks(t *testing.T, texts map[string]string) []claim {
	t.Helper()
	const page = "../testdata/peer/README.md"
	least, most := ratios(t, texts["testdata/peer/results/results.md"], "2,000")
	const ofPrice = `price of new nodes for 2,000 pods \| 1 \| `
	return []claim{
		{
			name: "least part of Karpenter's price", value: least,
			places: []string{ofPrice + `([\d.]+) to`, `([\d.]+) to [\d.]+ of Karpenter's price in`},
		},
		{
			name: "greatest part of Karpenter's price", value: most,
			places: []string{ofPrice + `[\d.]+ to ([\d.]+)`, `[\d.]+ to ([\d.]+) of Karpenter's price in`},
		},
		{
			name: "seconds until CreateFleet with a watch", places: []string{`With the watch it waits ([\d.]+) s`},
			value: matchIn(t, page, `call came ([\d.]+) s after the pods at the median`),
		},
		{
			name: "seconds until CreateFleet without a watch", places: []string{`A burst waits ([\d.]+) s for CreateFleet`},
			value: matchIn(t, page, `bursts took ([\d.]+) s at the median`),
		},
	}
}
