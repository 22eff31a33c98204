package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/hours"
)

const (
	// defaultWakeAhead is more than most nodes take from their launch to their first pod.
	defaultWakeAhead = 5 * time.Minute
	// maximumWakeAhead bounds how far a sleep is looked through.
	maximumWakeAhead = 24 * time.Hour
)

// poolHours are the pool's annotations about hours, with their problems.
type poolHours struct {
	findings

	zone               *time.Location
	sleep, maintenance hours.Windows
	wakeAhead          time.Duration
	// closed says that the maintenance windows cannot be read, so that none is open.
	closed bool
}

// readHours reads the annotations. Where they cannot be read the pool does not sleep, and no maintenance
// window is open.
func (p *NodePool) readHours() *poolHours {
	read := &poolHours{findings: findings{kind: NodePoolKind, name: p.Name}, wakeAhead: defaultWakeAhead}
	path := func(key string) string { return "metadata.annotations[" + key + "]" }
	var err error
	if read.zone, err = hours.Zone(p.Annotations[TimeZoneAnnotationKey]); err != nil {
		read.add(path(TimeZoneAnnotationKey), p.Annotations[TimeZoneAnnotationKey], "%s", err)
		read.zone, read.closed = time.UTC, p.Annotations[MaintenanceWindowAnnotationKey] != ""
		return read
	}
	if text, has := p.Annotations[WakeAheadAnnotationKey]; has {
		read.wakeAhead, err = time.ParseDuration(text)
		if err != nil || read.wakeAhead < 0 || read.wakeAhead > maximumWakeAhead {
			read.wakeAhead = defaultWakeAhead
			read.add(path(WakeAheadAnnotationKey), text, "is not a duration: write one from 0s to 24h, such as 10m")
		}
	}
	if text, has := p.Annotations[SleepAnnotationKey]; has {
		if read.sleep, err = hours.Parse(text, read.zone); err != nil {
			read.add(path(SleepAnnotationKey), text, "%s", err)
		}
	}
	if text, has := p.Annotations[MaintenanceWindowAnnotationKey]; has {
		if read.maintenance, err = hours.Parse(text, read.zone); err != nil {
			read.closed = true
			read.add(path(MaintenanceWindowAnnotationKey), text, "%s", err)
		}
	}
	return read
}

// TimeZone is the pool's time zone. The error is a FieldError.
func (p *NodePool) TimeZone() (*time.Location, error) {
	zone, err := hours.Zone(p.Annotations[TimeZoneAnnotationKey])
	if err != nil {
		return time.UTC, p.readHours().err()
	}
	return zone, nil
}

// HoursError names the annotations about hours that cannot be read, each as a FieldError, or is nil.
func (p *NodePool) HoursError() error { return p.readHours().err() }

// HoursProblem names the annotations about hours that cannot be read, and says what holds until they are
// mended. It is empty where all can be read. A pool whose sleep cannot be read works as if it were awake: a
// mistake in a window costs money, and takes no node from its pods.
func (p *NodePool) HoursProblem() string {
	read := p.readHours()
	err := read.err()
	if err == nil {
		return ""
	}
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	if p.Annotations[SleepAnnotationKey] != "" && read.sleep.Empty() {
		text += "; until that is mended the pool stays awake"
	}
	if read.closed {
		text += "; until that is mended no maintenance window of the pool opens"
	}
	return text
}

// Rest is whether a pool sleeps at one time.
//
// +kubebuilder:object:generate=false
type Rest struct {
	// Asleep says that the pool launches nothing and that its nodes leave.
	Asleep bool
	// Waking says that the pool launches again although its sleep has not ended. Its nodes stay.
	Waking bool
	// Changes is when the sleep ends, or when the next one begins. It is zero where that is not known.
	Changes time.Time
	// Zone is the time zone of Changes for people.
	Zone *time.Location
	// Cluster says that the whole cluster sleeps, and Reason is why, in a person's words.
	Cluster bool
	Reason  string
}

// Scheduled tells whether a sleep has begun or is known to begin.
func (r Rest) Scheduled() bool { return r.Asleep || r.Waking || !r.Changes.IsZero() }

// String says in a sentence without its end what holds and what changes next, such as "it sleeps until
// Mon 2 Mar 07:00 Europe/Berlin". It is empty without a sleep.
func (r Rest) String() string {
	subject, until := "it", "for more than a year"
	if r.Cluster {
		subject = "the cluster"
	}
	if !r.Changes.IsZero() {
		until = "until " + hours.Text(r.Changes, r.Zone)
	}
	switch {
	case r.Asleep && r.Reason != "":
		return fmt.Sprintf("%s sleeps %s (%s)", subject, until, r.Reason)
	case r.Asleep:
		return fmt.Sprintf("%s sleeps %s", subject, until)
	case r.Waking:
		return fmt.Sprintf("%s wakes: its sleep ends at %s", subject, hours.Text(r.Changes, r.Zone))
	case r.Scheduled():
		return fmt.Sprintf("%s sleeps from %s", subject, hours.Text(r.Changes, r.Zone))
	}
	return ""
}

// Rest is whether the pool sleeps now, by its own windows or the cluster's order, and what changes next.
func (p *NodePool) Rest(now time.Time) Rest {
	read := p.readHours()
	own := Rest{Zone: read.zone}
	inside := read.sleep.Inside(now)
	own.Changes = read.sleep.Next(now)
	own.Asleep = read.sleep.Covers(now, read.wakeAhead)
	own.Waking = inside && !own.Asleep
	if p.ClusterOrder == nil {
		return own
	}
	order := p.ClusterOrder.Sleep(now)
	zone := p.ClusterOrder.Windows.Zone()
	if zone == time.UTC {
		zone = read.zone
	}
	all := Rest{Zone: zone, Changes: order.Changes, Cluster: true, Reason: p.ClusterOrder.Reason}
	ahead := !order.Changes.IsZero() && !order.Changes.After(now.Add(read.wakeAhead))
	all.Asleep, all.Waking = order.Inside && !ahead, order.Inside && ahead
	return longer(own, all)
}

// longer is the rest that decides of two: the one that ends last while the pool sleeps, and otherwise
// the one that begins first.
func longer(own, all Rest) Rest {
	soonest := func(a, b Rest) Rest {
		if a.Changes.IsZero() || !b.Changes.IsZero() && b.Changes.Before(a.Changes) {
			return b
		}
		return a
	}
	switch {
	case own.Asleep && all.Asleep:
		if own.Changes.IsZero() || !all.Changes.IsZero() && all.Changes.Before(own.Changes) {
			return own
		}
		return all
	case all.Asleep || all.Waking && !own.Asleep:
		return all
	case own.Asleep || own.Waking:
		return own
	}
	return soonest(own, all)
}

// Maintenance is whether a pool's nodes may be disrupted at one time.
//
// +kubebuilder:object:generate=false
type Maintenance struct {
	// Closed says that the pool has maintenance windows, and that none is open.
	Closed bool
	// Changes is when the window that is open closes, or when the next one opens. It is zero without
	// windows, and where it is not known.
	Changes time.Time
	// Zone is the time zone of Changes for people.
	Zone *time.Location
}

// String says in a sentence without its end what changes next. It is empty without windows.
func (m Maintenance) String() string {
	switch {
	case m.Closed && m.Changes.IsZero():
		return "no maintenance window opens"
	case m.Closed:
		return "its maintenance window opens at " + hours.Text(m.Changes, m.Zone)
	case m.Changes.IsZero():
		return ""
	}
	return "its maintenance window is open until " + hours.Text(m.Changes, m.Zone)
}

// Maintenance is whether the pool's maintenance windows let its nodes be disrupted now.
func (p *NodePool) Maintenance(now time.Time) Maintenance {
	read := p.readHours()
	if read.closed || read.maintenance.Empty() {
		return Maintenance{Closed: read.closed, Zone: read.zone}
	}
	return Maintenance{
		Closed: !read.maintenance.Inside(now), Changes: read.maintenance.Next(now), Zone: read.zone,
	}
}
