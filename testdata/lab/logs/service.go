package logs

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maximumEvents bounds each stream, and maximumStreams each group; the oldest give way.
const (
	maximumEvents  = 10_000
	maximumStreams = 200
)

// Event is one line of a log.
type Event struct {
	Stream  string
	Time    time.Time
	Message string
	// number grows with arrival.
	number uint64
}

// Service holds the log groups. It needs no Close: it has neither goroutines nor timers.
type Service struct {
	accountID, region string

	mu     sync.Mutex
	groups map[string]*group
	lines  uint64
	// queries of Logs Insights by their id, and asked their ids, the oldest first.
	queries map[string]*query
	asked   []string
}

type group struct {
	retention int // days; 0 keeps for ever
	streams   map[string]*stream
	order     []string // stream names, oldest first
}

type stream struct{ events []Event }

// New returns a log service without groups.
func New(accountID, region string) *Service {
	return &Service{accountID: accountID, region: region, groups: map[string]*group{}}
}

// Append adds a line to a stream, which it makes, as Lambda does for its functions. It makes the
// group too where the function's role may; else a line for a group that is not there, or no longer,
// is lost.
func (s *Service) Append(groupName, streamName string, at time.Time, line string, mayMakeGroup bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[groupName]
	if g == nil && !mayMakeGroup {
		return
	}
	if g == nil {
		g = s.addGroup(groupName, 0)
	}
	st := g.streams[streamName]
	if st == nil {
		st = g.addStream(streamName)
	}
	s.lines++
	st.events = append(st.events, Event{Stream: streamName, Time: at, Message: line, number: s.lines})
	if len(st.events) > maximumEvents {
		st.events = slices.Clone(st.events[len(st.events)-maximumEvents*9/10:])
	}
	if g.retention > 0 {
		oldest := time.Now().AddDate(0, 0, -g.retention)
		st.events = slices.DeleteFunc(st.events, func(e Event) bool { return e.Time.Before(oldest) })
	}
}

func (s *Service) addGroup(name string, retention int) *group {
	g := &group{retention: retention, streams: map[string]*stream{}}
	s.groups[name] = g
	return g
}

func (g *group) addStream(name string) *stream {
	st := &stream{}
	g.streams[name] = st
	g.order = append(g.order, name)
	if len(g.order) > maximumStreams {
		delete(g.streams, g.order[0])
		g.order = g.order[1:]
	}
	return st
}

// retentions are the days that CloudWatch Logs takes,
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
var retentions = []int{
	1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
}

func checkRetention(days int) error {
	if days != 0 && !slices.Contains(retentions, days) {
		return fmt.Errorf("RetentionInDays is %d; it must be one of %v", days, retentions)
	}
	return nil
}

// Events returns a group's events, oldest first.
func (s *Service) Events(groupName string) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[groupName]
	if g == nil {
		return nil
	}
	var events []Event
	for _, st := range g.streams {
		events = append(events, st.events...)
	}
	slices.SortFunc(events, func(a, b Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.number, b.number))
	})
	return events
}

func (s *Service) has(groupName string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.groups[groupName] != nil
}

func (s *Service) arn(groupName string) string {
	return fmt.Sprintf("arn:aws:logs:%s:%s:log-group:%s", s.region, s.accountID, groupName)
}
