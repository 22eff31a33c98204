package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/version"
)

// Verdict says whether an assumption held.
type Verdict string

// The verdicts. A fact that could not be observed says nothing about its assumption.
const (
	Holds       Verdict = "holds"
	Fails       Verdict = "does not hold"
	NotObserved Verdict = "not observed"
)

// Observation is what was seen of one fact.
type Observation struct {
	// Assumption is the first column of the ledger's row.
	Assumption string
	Verdict    Verdict
	Saw        string
	// Changes is what Whittle does otherwise where the assumption does not hold.
	Changes string
}

// fact is one thing to observe. observe returns whether the assumption held, and what was seen. changes
// says what Whittle does otherwise where it does not hold.
type fact struct {
	assumption, creates, changes string
	observe                      func(context.Context, *Account) (holds bool, saw string, err error)
}

// limit bounds the observation of one fact. A schedule of one minute fires twice in it.
const limit = 4 * time.Minute

// facts lists everything that is observed, in order. Later facts use what earlier ones created.
func facts() []fact {
	var all []fact
	for _, some := range [][]fact{requestFacts(), launchFacts(), messageFacts(), accessFacts(), stackFacts()} {
		all = append(all, some...)
	}
	return all
}

// Assumptions are those that the facts observe.
func Assumptions() []string {
	var all []string
	for _, f := range facts() {
		all = append(all, f.assumption)
	}
	return all
}

// Announce says what Run creates, and what it costs in an account.
func Announce(out io.Writer) error {
	for _, f := range facts() {
		if f.creates == "" {
			continue
		}
		if _, err := fmt.Fprintf(out, "creates %s\n", f.creates); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(out,
		"All of it is deleted at the end. Five small instances for some minutes cost about $0.01.")
	return err
}

// Run observes all facts and deletes what they created. An error is that something could not be
// deleted; its name is in the error.
func Run(
	ctx context.Context, account *Account, progress io.Writer,
) (seen []Observation, failure error) {
	defer func() { failure = errors.Join(failure, account.clean(context.WithoutCancel(ctx))) }()
	for _, f := range facts() {
		bounded, cancel := context.WithTimeout(ctx, limit)
		observation := Observation{Assumption: f.assumption, Changes: f.changes}
		holds, saw, err := f.observe(bounded, account)
		cancel()
		switch {
		case err != nil:
			observation.Verdict, observation.Saw = NotObserved, err.Error()
		case holds:
			observation.Verdict, observation.Saw = Holds, saw
		default:
			observation.Verdict, observation.Saw = Fails, saw
		}
		seen = append(seen, observation)
		if _, err := fmt.Fprintf(progress, "%s: %s\n", observation.Verdict, f.assumption); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// Page is what was observed, as one page of Markdown that a person can send back. It names neither the
// account nor anything in it, except in the words of AWS's own errors.
func Page(where string, at time.Time, seen []Observation) string {
	count := map[Verdict]int{}
	for _, o := range seen {
		count[o.Verdict]++
	}
	var page strings.Builder
	fmt.Fprintf(&page, "# What AWS did\n\nWhittle %s, %s, %s. Of %d assumptions %d held, %d did not, and %d were not "+
		"observed.\n", version.Version, where, at.UTC().Format("2006-01-02 15:04 UTC"), len(seen), count[Holds],
		count[Fails], count[NotObserved])
	for _, verdict := range []Verdict{Fails, Holds, NotObserved} {
		if count[verdict] == 0 {
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n| assumption | seen | what follows if it does not hold |\n| --- | --- | --- |\n",
			strings.ToUpper(string(verdict[:1]))+string(verdict[1:]))
		for _, o := range seen {
			if o.Verdict == verdict {
				fmt.Fprintf(&page, "| %s | %s | %s |\n", o.Assumption, oneLine.Replace(o.Saw), o.Changes)
			}
		}
	}
	return page.String()
}

// oneLine keeps a text within a cell of a table.
var oneLine = strings.NewReplacer("\n", " ", "|", "/")
