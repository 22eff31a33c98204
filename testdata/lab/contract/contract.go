package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
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
}

// fact is one thing to observe. observe returns whether the assumption held, and what was seen.
type fact struct {
	assumption, creates string
	observe             func(context.Context, *Account) (holds bool, saw string, err error)
}

// limit bounds the observation of one fact. A schedule of one minute fires twice in it.
const limit = 4 * time.Minute

// facts lists everything that is observed, in order. Later facts use what earlier ones created.
func facts() []fact {
	var all []fact
	for _, some := range [][]fact{requestFacts(), launchFacts(), messageFacts(), accessFacts()} {
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
		"All of it is deleted at the end. Four small instances for some minutes cost about $0.01.")
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
		observation := Observation{Assumption: f.assumption}
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

// Write prints the observations beside the ledger's assumptions.
func Write(out io.Writer, seen []Observation) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ASSUMPTION\tVERDICT\tSEEN") // Flush returns its error
	for _, o := range seen {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", o.Assumption, o.Verdict, o.Saw)
	}
	return table.Flush()
}
