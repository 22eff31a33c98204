package function

import (
	"testing"
	"time"
)

// At a steady limit nearly all attempts get through, whatever it is.
func TestPacedSettlesAtTheAcceptedRate(t *testing.T) {
	for _, limit := range []time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second} {
		now := time.Unix(0, 0)
		p := &paced{}
		var free time.Time // when the next attempt gets through
		through, refused := 0, 0
		for range 500 {
			now = now.Add(p.turn(now)).Add(time.Millisecond)
			if now.Before(free) {
				refused++
				p.learn(true, now)
				continue
			}
			through++
			free = now.Add(limit)
			p.learn(false, now)
		}
		if refused > through/3 {
			t.Errorf("one in %s allowed: %d got through, %d were refused", limit, through, refused)
		}
		if pace := now.Sub(time.Unix(0, 0)) / time.Duration(through); pace > limit*2 {
			t.Errorf("one in %s allowed: one in %s got through", limit, pace)
		}
	}
	p := &paced{}
	p.learn(true, time.Unix(0, 0))
	for range 200 {
		p.learn(false, time.Unix(0, 0))
	}
	if p.gap != 0 {
		t.Errorf("after 200 calls that got through there is still a pause of %s", p.gap)
	}
}
