package zonalshift

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
)

const (
	// believedFor is how long a container believes ARC's last answer.
	believedFor = 5 * time.Second
	// patience bounds one question, because pods wait for the answer.
	patience = 3 * time.Second
	// longestShift is the time for which ARC lets a shift last before it must be renewed. An
	// autoshift has no end of its own, and counts for as long from its start.
	longestShift = 72 * time.Hour
)

// Source reads the shifts of one cluster. It is safe for concurrent use. A nil Source knows of no
// shift, as in a cluster where the setting is off.
type Source struct {
	client *arczonalshift.Client
	arn    string
	now    func() time.Time

	mutex    sync.Mutex
	asked    time.Time
	shifted  map[string]time.Time
	answered bool // whether ARC told the shifts, and not the cluster
	written  bool // whether shifted was written to the cluster
}

// New returns a source for the EKS cluster with the ARN, and nil for an empty ARN.
func New(config aws.Config, clusterARN string, now func() time.Time) *Source {
	if clusterARN == "" {
		return nil
	}
	return &Source{
		client: arczonalshift.NewFromConfig(config), arn: clusterARN,
		now: func() time.Time { return now().Round(0) }, // Lambda may freeze the container
	}
}

// Change is what has begun and ended since the shifts were last written, as ids of zones.
type Change struct{ Begun, Ended []string }

// Known returns the zones that are shifted away, by id, with the end of the shift. They are at most
// some seconds old. When ARC does not answer, those of its last answer count, and those in the
// cluster for a new container: a shift that is forgotten would launch nodes in a zone that fails.
func (s *Source) Known(ctx context.Context, client *cluster.Client) map[string]time.Time {
	if s == nil {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.read(ctx, client)
	return s.shifted
}

// Refresh is Known, and writes the zones to the cluster when they have changed. The change is empty
// unless this call has written it.
func (s *Source) Refresh(ctx context.Context, client *cluster.Client) (map[string]time.Time, Change) {
	if s == nil {
		return nil, Change{}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.read(ctx, client)
	if !s.answered || s.written {
		return s.shifted, Change{}
	}
	before, err := inventory.PutShifted(ctx, client, s.shifted, s.now())
	if err != nil {
		slog.WarnContext(ctx, "zonal shifts are not written: plans of others do not see them", "error", err)
		return s.shifted, Change{}
	}
	s.written = true
	change := Change{Begun: missing(s.shifted, before), Ended: missing(before, s.shifted)}
	if len(change.Begun)+len(change.Ended) > 0 {
		slog.WarnContext(ctx, "zonal shifts changed", "begun", change.Begun, "ended", change.Ended)
	}
	return s.shifted, change
}

// Check reports why ARC does not tell the shifts. The installation asks, because a later refusal is only a line in
// a log: plans would go on as if no zone were shifted away.
func (s *Source) Check(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.ask(ctx, s.now())
}

// read asks ARC unless its last answer is new, or takes what the cluster knows.
func (s *Source) read(ctx context.Context, client *cluster.Client) {
	now := s.now()
	if !s.asked.IsZero() && now.Sub(s.asked) < believedFor {
		return
	}
	s.asked = now
	err := s.ask(ctx, now)
	if err == nil {
		return
	}
	slog.WarnContext(ctx, "ARC is not asked for zonal shifts: the last known ones count", "error", err)
	if s.answered {
		return
	}
	if known, err := inventory.Unavailable(ctx, client); err == nil {
		s.shifted = known.Shifted
	}
}

// ask reads the shifts from ARC.
func (s *Source) ask(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	resource, err := s.client.GetManagedResource(ctx, &arczonalshift.GetManagedResourceInput{ResourceIdentifier: &s.arn})
	if err != nil {
		return fmt.Errorf("reading the zonal shifts of %s: enrol the cluster in ARC, or turn the setting zonalShift off: %w",
			s.arn, err)
	}
	shifted := applied(resource, now)
	s.written = s.answered && s.written && maps.EqualFunc(shifted, s.shifted, time.Time.Equal)
	s.answered, s.shifted = true, shifted
	return nil
}

// applied are the shifts that are in effect: manual ones, practice runs and autoshifts alike.
func applied(resource *arczonalshift.GetManagedResourceOutput, now time.Time) map[string]time.Time {
	shifted := map[string]time.Time{}
	add := func(zone *string, until time.Time) {
		if id := aws.ToString(zone); id != "" && now.Before(until) && until.After(shifted[id]) {
			shifted[id] = until.UTC().Truncate(time.Second)
		}
	}
	for _, shift := range resource.ZonalShifts {
		if shift.AppliedStatus == types.AppliedStatusApplied {
			add(shift.AwayFrom, aws.ToTime(shift.ExpiryTime))
		}
	}
	for _, shift := range resource.Autoshifts {
		if shift.AppliedStatus == types.AutoshiftAppliedStatusApplied {
			add(shift.AwayFrom, aws.ToTime(shift.StartTime).Add(longestShift))
		}
	}
	return shifted
}

// missing are the keys of one map that the other lacks.
func missing(in, from map[string]time.Time) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(in)) {
		if _, has := from[id]; !has {
			ids = append(ids, id)
		}
	}
	return ids
}
