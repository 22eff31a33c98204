package ec2

import (
	"fmt"
	"maps"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
)

// Consistency says how far calls lag behind the changes of instances. EC2 is eventually consistent
// and promises no bound. The zero value has no lag.
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
//
// Two replicas answer the calls. Each learns a change at a time of its own, so that a call may know
// less than the one before. A call that names an instance which its replica does not know is refused
// with InvalidInstanceID.NotFound.
type Consistency struct {
	// Seed chooses the times and the replicas.
	Seed uint64
	// Lag is the longest time until a replica knows a launch, a state, a tag or a fleet. The tags of
	// a launch come after their instance.
	Lag time.Duration
	// TemplateLag is the longest time until a replica knows a new launch template. Until then launches
	// with the template are refused.
	TemplateLag time.Duration
	// NameLag is the longest time that an instance runs without a private DNS name.
	NameLag time.Duration
	// Forget is how long a replica shows an instance after it has learned that it is terminated. 0
	// means Timing.KeepTerminated.
	Forget time.Duration
}

const replicas = 2

// shownState is what replicas know of an instance's state.
type shownState struct {
	state           State
	reason, message string
	forgotten       bool
}

// view is what one call sees: a replica at a time, or everything as it is.
type view struct {
	now     time.Time
	replica int
	all     bool
}

// omniscient is the view of EC2 itself, and of the policies that it asks.
func omniscient() view { return view{all: true} }

// view chooses the replica of a call. It is called with the lock held.
func (s *Service) view() view {
	s.views++
	replica := int(draw.Share(s.consistency.Seed, "replica", fmt.Sprint(s.views)) * replicas)
	return view{now: s.config.Now(), replica: replica}
}

// learned returns the times at which the replicas learn a change: within the lag after now, and not
// before the times that a replica learns an earlier one, if there are any. It is called with the lock
// held.
func (s *Service) learned(now time.Time, after []time.Time, name ...string) []time.Time {
	times := make([]time.Time, replicas)
	for replica := range times {
		from := now
		if after != nil {
			from = after[replica]
		}
		names := append([]string{fmt.Sprint(replica)}, name...)
		times[replica] = from.Add(draw.Between(s.consistency.Seed, 0, now.Add(s.consistency.Lag).Sub(from), names...))
	}
	return times
}

// replicate tells the replicas an instance's state. It is called with the lock held.
func (s *Service) replicate(i *instance) {
	now := s.config.Now()
	state := shownState{state: i.State, reason: i.Reason, message: i.reasonMessage}
	times := s.learned(now, nil, i.ID, fmt.Sprint(i.stateChanges))
	i.shown.Set(state, now, times...)
	if i.State == Terminated && s.consistency.Forget > 0 {
		state.forgotten = true
		forgotten := make([]time.Time, replicas)
		for replica, at := range times {
			forgotten[replica] = at.Add(s.consistency.Forget)
		}
		i.shown.Set(state, now, forgotten...)
	}
}

// replicateTags tells the replicas an instance's tags and those of its volumes. The tags of a launch
// come in what is left of the lag once the instance is known. It is called with the lock held.
func (s *Service) replicateTags(i *instance) {
	now := s.config.Now()
	i.tagChanges++
	var after []time.Time
	if i.tagChanges == 1 {
		after = s.learned(now, nil, i.ID, fmt.Sprint(i.stateChanges))
	}
	times := s.learned(now, after, i.ID, "tags", fmt.Sprint(i.tagChanges))
	i.shownTags.Set(maps.Clone(i.Tags), now, times...)
	for n := range i.volumes {
		v := &i.volumes[n]
		v.shownTags.Set(maps.Clone(v.tags), now, append([]time.Time{}, times...)...)
	}
}

// templateSeenBy finds a template by its id or its name, as a call's replica knows it.
func (s *Service) templateSeenBy(v view, id, name string) (*launchTemplate, error) {
	t, err := s.template(id, name)
	if err == nil && !t.knownTo(v) {
		return nil, noTemplate(id, name)
	}
	return t, err
}

// replicateTemplate tells the replicas a new launch template. It is called with the lock held.
func (s *Service) replicateTemplate(t *launchTemplate) {
	now := s.config.Now()
	times := make([]time.Time, replicas)
	for replica := range times {
		times[replica] = now.Add(draw.Between(s.consistency.Seed, 0, s.consistency.TemplateLag, fmt.Sprint(replica), t.id))
	}
	t.shown.Set(true, now, times...)
}

func (t *launchTemplate) knownTo(v view) bool {
	_, known := t.shown.Get(v.now, v.replica)
	return v.all || known
}

// seen returns the instance as a call sees it. known is false for one that the call's replica does
// not know yet, or no more.
func (i *instance) seen(v view) (seen *instance, known bool) {
	if v.all {
		return i, true
	}
	shown, known := i.shown.Get(v.now, v.replica)
	if !known || shown.forgotten || time.Now().Before(i.visible) {
		return nil, false
	}
	c := *i
	c.State, c.Reason, c.reasonMessage = shown.state, shown.reason, shown.message
	if c.Tags, _ = i.shownTags.Get(v.now, v.replica); c.Tags == nil {
		c.Tags = map[string]string{}
	}
	return &c, true
}

func (v *volume) seenTags(from view) map[string]string {
	if from.all {
		return v.tags
	}
	tags, _ := v.shownTags.Get(from.now, from.replica)
	if tags == nil {
		tags = map[string]string{}
	}
	return tags
}

// nameKnown reports whether EC2 tells the private DNS name of an instance, as a call sees it. EC2 documents that
// there is none before the instance runs, and blanks it while the instance stops. It is called with the
// lock held.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Instance.html
func (s *Service) nameKnown(i *instance) bool {
	named := i.ran.Add(draw.Between(s.consistency.Seed, 0, s.consistency.NameLag, i.ID, "name"))
	return i.State != Pending && i.State != Stopping && !s.config.Now().Before(named)
}

// settle tells all replicas all changes so far.
func (i *instance) settle() {
	i.visible, i.ran = time.Time{}, time.Time{}
	i.shown.Settle()
	i.shownTags.Settle()
	for n := range i.volumes {
		i.volumes[n].shownTags.Settle()
	}
}
