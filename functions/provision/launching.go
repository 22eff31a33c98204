package main

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/plan"
)

// launching is one round of launches, side by side.
type launching struct {
	run      *run
	snapshot *plan.Snapshot
	owned    map[string]bool // instances by id, as they were when the round began

	mutex    sync.Mutex
	launched []*api.NodeClaim
	marks    catalog.Unavailable
	short    bool
	throttle error
	failures error
}

func (l *launching) failed(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.failures = errors.Join(l.failures, err)
	if fleet.IsThrottled(err) {
		l.throttle = err
	}
}

func (l *launching) isShort() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.short = true
}

// stopped is why no more is to be asked for in this round, nil to go on.
func (l *launching) stopped(ctx context.Context) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.throttle != nil {
		return errThrottled
	}
	return ctx.Err()
}

var errThrottled = errors.New("EC2 asks for fewer calls")

// mark leaves out what EC2 was short of, from now on in this round too.
func (l *launching) mark(short []fleet.Shortage) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, shortage := range short {
		until := l.run.now().Add(shortage.For)
		l.marks.LeaveOut(shortage.Key, until)
		l.run.unavailable.LeaveOut(shortage.Key, until)
	}
}

// unavailable is what EC2 has been short of up to now.
func (l *launching) unavailable() *catalog.Unavailable {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.run.unavailable.Clone()
}

// outcome writes down what came of a group's request. The claims that may be launched
// anew with another token come back as groups.
func (l *launching) outcome(ctx context.Context, group launch.Group, class *api.EC2NodeClass, types []catalog.InstanceType, outcome fleet.Outcome, failure error) []launch.Group {
	l.mark(outcome.Short)
	l.advise(group, outcome.Short)
	byID := map[string]*fleet.Instance{}
	var ids []string
	for i := range outcome.Instances {
		byID[outcome.Instances[i].ID] = &outcome.Instances[i]
		ids = append(ids, outcome.Instances[i].ID)
	}
	if len(ids) > 0 {
		l.absolve(ctx, class)
	}
	given := group.Assign(ids, l.owned)
	var rest []api.NodeClaim
	var writing errgroup.Group
	writing.SetLimit(writers)
	for i := range group.Waiting {
		claim := &group.Waiting[i]
		instance := byID[given[claim.Name]]
		if instance == nil {
			rest = append(rest, *claim)
			continue
		}
		writing.Go(func() error {
			stored, err := l.run.launched(ctx, claim, instance, class, types)
			l.failed(err)
			if stored != nil {
				l.mutex.Lock()
				l.launched = append(l.launched, stored)
				l.mutex.Unlock()
			}
			return nil
		})
	}
	_ = writing.Wait() // the failures are gathered: one claim's does not stop another's
	if len(rest) == 0 {
		return nil
	}
	if failure == nil {
		l.isShort()
		l.giveUp(ctx, rest, reasonInsufficientCapacity, lacking(group, len(rest), outcome.Short), !outcome.Earlier)
		return nil
	}
	return l.refused(ctx, group, rest, failure)
}
