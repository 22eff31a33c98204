package logs

import (
	"errors"
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
	// ID is unique in the service and grows with arrival.
	ID      uint64
	Stream  string
	Time    time.Time
	Arrived time.Time
	Message string
}

// Service holds the log groups. It needs no Close: it has neither goroutines nor timers.
type Service struct {
	accountID, region string

	mu     sync.Mutex
	groups map[string]*group
	lastID uint64
}

type group struct {
	name      string
	created   time.Time
	retention int // days; 0 keeps for ever
	tags      map[string]string
	streams   map[string]*stream
	order     []string // stream names, oldest first
}

type stream struct {
	name    string
	created time.Time
	events  []Event
}

var (
	errNotFound = errors.New("does not exist")
	errExists   = errors.New("already exists")
)

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
		g = s.addGroup(groupName, 0, nil)
	}
	st := g.streams[streamName]
	if st == nil {
		st = g.addStream(streamName)
	}
	s.append(g, st, at, line)
}

func (s *Service) append(g *group, st *stream, at time.Time, line string) {
	s.lastID++
	st.events = append(st.events, Event{ID: s.lastID, Stream: st.name, Time: at, Arrived: time.Now(), Message: line})
	if len(st.events) > maximumEvents {
		st.events = slices.Clone(st.events[len(st.events)-maximumEvents*9/10:])
	}
	if g.retention > 0 {
		oldest := time.Now().AddDate(0, 0, -g.retention)
		st.events = slices.DeleteFunc(st.events, func(e Event) bool { return e.Time.Before(oldest) })
	}
}

func (s *Service) addGroup(name string, retention int, tags map[string]string) *group {
	g := &group{name: name, created: time.Now(), retention: retention, tags: tags, streams: map[string]*stream{}}
	s.groups[name] = g
	return g
}

func (g *group) addStream(name string) *stream {
	st := &stream{name: name, created: time.Now()}
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

// Events returns a group's events, or those of one stream, oldest first, from the time since on
// (the zero time: all).
func (s *Service) Events(groupName, streamName string, since time.Time) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[groupName]
	if g == nil {
		return nil
	}
	return g.choose(func(name string) bool { return streamName == "" || name == streamName }, func(e Event) bool {
		return !e.Time.Before(since)
	})
}

func (g *group) choose(streams func(string) bool, keep func(Event) bool) []Event {
	var events []Event
	for name, st := range g.streams {
		if !streams(name) {
			continue
		}
		for _, e := range st.events {
			if keep(e) {
				events = append(events, e)
			}
		}
	}
	slices.SortFunc(events, func(a, b Event) int {
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return int(int64(a.ID) - int64(b.ID))
	})
	return events
}

func (s *Service) group(name string) (*group, error) {
	if g := s.groups[name]; g != nil {
		return g, nil
	}
	return nil, fmt.Errorf("log group %q %w", name, errNotFound)
}

func (s *Service) arn(groupName string) string {
	return fmt.Sprintf("arn:aws:logs:%s:%s:log-group:%s", s.region, s.accountID, groupName)
}
