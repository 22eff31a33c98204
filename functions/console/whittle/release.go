package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/functions/console/control"
	"github.com/whittle-dev/whittle/functions/console/objects"
	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/release"
)

const (
	releaseUsage = "whittle release: write status, continue or abort, as in: whittle release continue -pool batch"
	// verbStatus shows the releases, and orders nothing.
	verbStatus release.Verb = "status"
)

// orderRelease shows how far releases are, or orders that they go on or stop.
func orderRelease(
	ctx context.Context, arguments []string, now func() time.Time, out, problems io.Writer,
) error {
	verb := verbStatus
	verbs := []release.Verb{verbStatus, release.Continue, release.Abort}
	if len(arguments) > 0 && slices.Contains(verbs, release.Verb(arguments[0])) {
		verb, arguments = release.Verb(arguments[0]), arguments[1:]
	}
	flags := flag.NewFlagSet("whittle release", flag.ContinueOnError)
	var way access
	way.addFlags(flags)
	pool := flags.String("pool", "", "`name` of the NodePool (default: each whose release is under way)")
	var output form
	outputFlag(flags, &output, formTable, formJSON, formYAML)
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usageProblem(problems, releaseUsage)
	}
	client, err := way.connect()
	if err != nil {
		return err
	}
	read, err := objects.Read(ctx, client, cluster.KarpenterAccounts(), now())
	if err != nil {
		return mend(err, client.Endpoint)
	}
	if verb == verbStatus {
		return showReleasesOf(read.Releases, *pool, now(), &output, out)
	}
	ordered := control.Release{Verb: verb, Pool: *pool, Who: whoAmI(ctx, client)}
	changes, says, err := control.ReleaseOf(ordered, read.Releases, now())
	if err != nil {
		return fmt.Errorf("whittle release: %w", err)
	}
	if err := inventory.ChangeControl(ctx, client, changes); err != nil {
		return mend(err, client.Endpoint)
	}
	_, err = fmt.Fprintln(out, says)
	return err
}

// shownRelease is the release of a pool for people and programs.
type shownRelease struct {
	NodePool string        `json:"nodePool"`
	Release  string        `json:"release"`
	Since    time.Time     `json:"since"`
	Stage    release.Stage `json:"stage"`
	// OldNodes wait for it, NewNodes have it, and BakedNodes of them have been healthy for long enough.
	OldNodes   int `json:"oldNodes"`
	NewNodes   int `json:"newNodes"`
	BakedNodes int `json:"bakedNodes"`
	// BakesUntil is when the stage may end, or missing while no node bakes.
	BakesUntil time.Time `json:"bakesUntil,omitzero"`
	Message    string    `json:"message"`
	Problem    string    `json:"problem,omitempty"`
}

// shownReleases are those of all pools that have had one.
type shownReleases struct {
	Releases []shownRelease `json:"releases"`
}

func shownOf(states map[string]*release.State, only string) shownReleases {
	shown := shownReleases{Releases: []shownRelease{}}
	for _, pool := range slices.Sorted(maps.Keys(states)) {
		if state := states[pool]; only == "" || only == pool {
			shown.Releases = append(shown.Releases, shownRelease{
				NodePool: pool, Release: state.Record.Release, Since: state.Record.Since, Stage: state.Stage,
				OldNodes: state.Old, NewNodes: state.New, BakedNodes: state.Baked, BakesUntil: state.Until,
				Message: printable.Line(state.String()), Problem: printable.Line(state.Setting.Problem),
			})
		}
	}
	return shown
}

func showReleasesOf(
	states map[string]*release.State, only string, now time.Time, output *form, out io.Writer,
) error {
	shown := shownOf(states, only)
	if output.isForPrograms() {
		return output.write(out, shown, "releases")
	}
	if len(shown.Releases) == 0 {
		_, err := fmt.Fprintln(out, "no release was seen yet: no node has drifted")
		return err
	}
	rows := [][]terminal.Cell{terminal.Header("NODEPOOL", "STAGE", ">OLD", ">NEW", ">BAKED", ">LEFT", "VERDICT")}
	for i := range shown.Releases {
		one := &shown.Releases[i]
		color, left := terminal.Plain, "-"
		if one.Stage == release.Halted || one.Stage == release.Aborted || one.Problem != "" {
			color = terminal.Yellow
		}
		if one.BakesUntil.After(now) {
			left = one.BakesUntil.Sub(now).Round(time.Second).String()
		}
		rows = append(rows, []terminal.Cell{
			{Text: one.NodePool}, {Text: string(one.Stage), Color: color},
			{Text: strconv.Itoa(one.OldNodes), Right: true}, {Text: strconv.Itoa(one.NewNodes), Right: true},
			{Text: strconv.Itoa(one.BakedNodes), Right: true}, {Text: left, Right: true},
			{Text: cmp.Or(one.Problem, one.Message), Color: color},
		})
	}
	style := styleOf(out)
	style.Width = 0 // a verdict that is cut off helps nobody
	_, err := io.WriteString(out, style.Table(rows))
	return err
}
