package launching

import (
	"sync"
	"time"

	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// shortages are the offerings that EC2 has been short of. The launches of a round share them.
type shortages struct {
	mutex sync.Mutex
	known *catalog.Unavailable // before the round and in it
	found catalog.Unavailable  // in the round
}

func newShortages(before *catalog.Unavailable) *shortages {
	return &shortages{known: before.Clone()}
}

// leaveOut leaves offerings out of this round and of later launches.
func (s *shortages) leaveOut(short []attempt.Shortage, now time.Time) {
	s.leaveOutUnless(func(*catalog.Unavailable) bool { return false }, short, now)
}

// leaveOutUnless leaves offerings out like leaveOut, unless nothing would be left, which it
// reports. Launches beside each other may each lack a part. The last one learns that it took the
// rest.
func (s *shortages) leaveOutUnless(
	nothing func(*catalog.Unavailable) bool, short []attempt.Shortage, now time.Time,
) (none bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	out := s.known.Clone()
	for _, shortage := range short {
		out.LeaveOut(shortage.Key, now.Add(shortage.For))
	}
	if nothing(out) {
		return true
	}
	s.known = out
	for _, shortage := range short {
		s.found.LeaveOut(shortage.Key, now.Add(shortage.For))
	}
	return false
}

// unavailable are the offerings that EC2 has been short of until now.
func (s *shortages) unavailable() *catalog.Unavailable {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.known.Clone()
}

// lacking are those that EC2 was short of in the round. The round is over.
func (s *shortages) lacking() catalog.Unavailable { return s.found }
