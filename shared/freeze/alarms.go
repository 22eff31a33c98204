package freeze

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/hours"
)

// AlarmsKey is the key of the ConfigMap's data for the CloudWatch alarms that freeze disruption. Only
// provision writes it.
const AlarmsKey = "alarms"

// AlarmsBelieved is how long a reading of the alarms counts. Provision reads them once a minute, and
// a tick may be a minute late. So two more readings may fail before disruption waits.
const AlarmsBelieved = 5 * time.Minute

// MaximumAlarms is how many alarms may freeze disruption. It bounds what the ConfigMap keeps of them.
const MaximumAlarms = 20

// States of alarms. StateMissing is that of an alarm that CloudWatch does not have.
const (
	StateOK               = "OK"
	StateAlarm            = "ALARM"
	StateInsufficientData = "INSUFFICIENT_DATA"
	StateMissing          = "MISSING"
)

// Scope is what an alarm freezes: the whole cluster, a NodePool, or the NodePools of an
// EC2NodeClass.
type Scope struct {
	Pool  string `json:"nodePool,omitempty"`
	Class string `json:"nodeClass,omitempty"`
}

// Prefixes of a scope in words.
const (
	scopeAll     = "all"
	scopeOfPool  = "nodepool/"
	scopeOfClass = "ec2nodeclass/"
)

// ParseScope reads a scope such as all, nodepool/batch or ec2nodeclass/gpu.
func ParseScope(text string) (Scope, error) {
	if text == scopeAll {
		return Scope{}, nil
	}
	if pool, ok := strings.CutPrefix(text, scopeOfPool); ok && pool != "" {
		return Scope{Pool: pool}, nil
	}
	if class, ok := strings.CutPrefix(text, scopeOfClass); ok && class != "" {
		return Scope{Class: class}, nil
	}
	return Scope{}, fmt.Errorf("%q is no scope: write %s, %sNAME or %sNAME", text, scopeAll, scopeOfPool, scopeOfClass)
}

// String is the scope as ParseScope reads it.
func (s Scope) String() string {
	switch {
	case s.Pool != "":
		return scopeOfPool + s.Pool
	case s.Class != "":
		return scopeOfClass + s.Class
	}
	return scopeAll
}

// Alarm is an alarm that freezes disruption while it rings, as of one reading.
type Alarm struct {
	Name string `json:"name"`
	Scope
	State string `json:"state"`
	// Since is when it came to the state. It is zero where CloudWatch does not tell.
	Since time.Time `json:"since,omitzero"`
	// Holds says that disruption stops in this state.
	Holds bool `json:"holds,omitempty"`
	// Pools are the NodePools of the class at the time of the reading. It is nil without a class.
	Pools []string `json:"nodePools,omitempty"`
}

// Alarms are all alarms that may freeze disruption, as of one reading.
type Alarms struct {
	// Read is when the reading began.
	Read   time.Time `json:"read"`
	Alarms []Alarm   `json:"alarms"`
}

// Judge says in which states alarms freeze disruption. The alarm's own state is one of them. An alarm
// that has gone is another: nobody knows whether it would ring.
func (a *Alarms) Judge(onInsufficientData bool) {
	for i := range a.Alarms {
		one := &a.Alarms[i]
		switch one.State {
		case StateOK:
			one.Holds = false
		case StateInsufficientData:
			one.Holds = onInsufficientData
		default:
			one.Holds = true
		}
	}
}

// Text is the value of the key.
func (a *Alarms) Text() (string, error) {
	text, err := json.Marshal(a)
	return string(text), err
}

// ReadAlarms reads the alarms in the data of the ConfigMap. It returns nil without the key.
func ReadAlarms(data map[string]string) (*Alarms, error) {
	text, has := data[AlarmsKey]
	if !has {
		return nil, nil
	}
	read := &Alarms{}
	if err := json.Unmarshal([]byte(text), read); err != nil {
		return nil, fmt.Errorf("data.%s is not what provision writes: remove the key, and provision writes it again: %w",
			AlarmsKey, err)
	}
	if read.Read.IsZero() {
		return nil, fmt.Errorf("data.%s has no time of its reading: remove the key, and provision writes it again", AlarmsKey)
	}
	return read, nil
}

// byAlarms are the freezes by alarms in the data. Beside those that ring it has one that begins when
// the reading counts no more.
func byAlarms(data map[string]string) []Freeze {
	alarms, err := ReadAlarms(data)
	if err != nil {
		return []Freeze{{Key: AlarmsKey, Problem: err.Error()}}
	}
	if alarms == nil {
		return nil
	}
	var made []Freeze
	for _, one := range alarms.Alarms[:min(len(alarms.Alarms), MaximumAlarms)] {
		if one.Holds {
			made = append(made, one.freezes()...)
		}
	}
	return append(made, Freeze{Key: AlarmsKey, Unread: true, Since: alarms.Read.Add(AlarmsBelieved)})
}

// freezes are those of one alarm: one for each pool that it stops.
func (a *Alarm) freezes() []Freeze {
	one := Freeze{Key: AlarmsKey, Pool: a.Pool, Class: a.Class, Alarm: a.Name, State: a.State, Since: a.Since}
	if a.Class == "" {
		return []Freeze{one}
	}
	made := make([]Freeze, len(a.Pools))
	for i, pool := range a.Pools {
		made[i] = one
		made[i].Pool = pool
	}
	return made
}

// ByAlarms reports whether the freeze comes from CloudWatch alarms, and not from a person.
func (f *Freeze) ByAlarms() bool { return f.Key == AlarmsKey || f.Alarm != "" || f.Unread }

// alarmText says in a sentence without its end which alarm freezes what.
func (f *Freeze) alarmText() string {
	if f.Unread {
		return fmt.Sprintf("%s is frozen because its CloudWatch alarms have not been read since %s", f.Subject(),
			hours.Text(f.Since.Add(-AlarmsBelieved), time.UTC))
	}
	text := fmt.Sprintf("%s is frozen by the CloudWatch alarm %q", f.Subject(), f.Alarm)
	if f.Class != "" {
		text += fmt.Sprintf(" for ec2nodeclass %q", f.Class)
	}
	if f.State == StateMissing {
		return text + ", which does not exist: make it, or take it out of the setting freezeAlarms"
	}
	text += ", which is in " + f.State
	if !f.Since.IsZero() {
		text += " since " + hours.Text(f.Since, time.UTC)
	}
	return text
}

// PoolsOfClasses writes on alarms of a class which pools have it. ClassOf has the class of each pool.
func (a *Alarms) PoolsOfClasses(classOf map[string]string) {
	for i := range a.Alarms {
		one := &a.Alarms[i]
		one.Pools = nil
		if one.Class == "" {
			continue
		}
		for pool, class := range classOf {
			if class == one.Class {
				one.Pools = append(one.Pools, pool)
			}
		}
		slices.Sort(one.Pools)
	}
}

// Sort puts the alarms into the order of their names.
func (a *Alarms) Sort() {
	slices.SortFunc(a.Alarms, func(x, y Alarm) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Scope.String(), y.Scope.String()))
	})
}

// AlarmTagKey is the key of the tag by which alarms freeze, with the setting freezeTaggedAlarms. Its value
// is a scope.
const AlarmTagKey = "whittle.dev/freeze"

// Watched is an alarm as the setting freezeAlarms names it, or one with the tag.
type Watched struct {
	Name string
	// ARN is empty where the setting has the name alone.
	ARN string
	Scope
	// Tagged is an alarm that only the tag names. The list of tags may still have it after its end.
	Tagged bool
}

// Tagged is the alarm with the ARN and the tag's value. It freezes the whole cluster where the value is no scope,
// which the error says.
func Tagged(arn, value string) (Watched, error) {
	read, err := ParseWatched(arn)
	if err == nil && read.ARN == "" {
		err = fmt.Errorf("%q is no ARN of a CloudWatch alarm", arn)
	}
	if err != nil {
		return Watched{}, err
	}
	read.Tagged = true
	if read.Scope, err = ParseScope(value); err != nil {
		err = fmt.Errorf("the tag %s of the alarm %q: %w", AlarmTagKey, read.Name, err)
	}
	return read, err
}

// arnOfAlarm are the parts of an alarm's ARN: partition, region, account and name.
var arnOfAlarm = regexp.MustCompile(`^arn:(aws[a-z-]*):cloudwatch:([a-z0-9-]+):([0-9]{12}):alarm:(.+)$`)

// maximumName is CloudWatch's longest name of an alarm.
const maximumName = 255

// ParseWatched reads an alarm by its name or ARN, with =SCOPE behind it where it is not about all.
func ParseWatched(text string) (Watched, error) {
	name, scope, hasScope := strings.Cut(strings.TrimSpace(text), "=")
	read := Watched{Name: name}
	if hasScope {
		var err error
		if read.Scope, err = ParseScope(scope); err != nil {
			return Watched{}, err
		}
	}
	if strings.HasPrefix(name, "arn:") {
		parts := arnOfAlarm.FindStringSubmatch(name)
		if parts == nil {
			return Watched{}, fmt.Errorf("%q is no ARN of a CloudWatch alarm", name)
		}
		read.ARN, read.Name = name, parts[4]
	}
	if read.Name == "" || len(read.Name) > maximumName {
		return Watched{}, fmt.Errorf("%q is no name of an alarm: 1 to %d characters", read.Name, maximumName)
	}
	return read, nil
}

// Place returns the region and the account of the alarm. Both are empty where the setting has the
// name alone.
func (w Watched) Place() (region, account string) {
	if parts := arnOfAlarm.FindStringSubmatch(w.ARN); parts != nil {
		return parts[2], parts[3]
	}
	return "", ""
}

// Described is what CloudWatch says of an alarm.
type Described struct {
	ARN, State string
	Since      time.Time
}

// Reading are the watched alarms by what CloudWatch said of them, by name. An alarm that it does not
// have, or has under another ARN, is missing.
func Reading(watched []Watched, said map[string]Described, onInsufficientData bool, read time.Time) *Alarms {
	made := &Alarms{Read: read.UTC(), Alarms: []Alarm{}}
	for _, one := range watched {
		alarm := Alarm{Name: one.Name, Scope: one.Scope, State: StateMissing}
		if found, has := said[one.Name]; has && (one.ARN == "" || one.ARN == found.ARN) {
			alarm.State, alarm.Since = found.State, found.Since.UTC().Truncate(time.Second)
			if found.Since.IsZero() {
				alarm.Since = time.Time{}
			}
		} else if one.Tagged {
			continue
		}
		made.Alarms = append(made.Alarms, alarm)
	}
	made.Judge(onInsufficientData)
	made.Sort()
	return made
}

// Missing are the names of the alarms that CloudWatch does not have.
func (a *Alarms) Missing() []string {
	var names []string
	for _, one := range a.Alarms {
		if one.State == StateMissing {
			names = append(names, one.Name)
		}
	}
	return names
}

// OfClasses reports whether an alarm is about a class.
func (a *Alarms) OfClasses() bool {
	return slices.ContainsFunc(a.Alarms, func(one Alarm) bool { return one.Class != "" })
}

// ByAlarms reports whether alarms are stored, whether or not one of them rings.
func (s *Freezes) ByAlarms() bool {
	return s != nil && slices.ContainsFunc(s.All, func(f Freeze) bool { return f.ByAlarms() })
}

// WithoutAlarms are the freezes of people alone.
func (s *Freezes) WithoutAlarms() *Freezes {
	if s == nil {
		return nil
	}
	return &Freezes{All: slices.DeleteFunc(slices.Clone(s.All), func(f Freeze) bool { return f.ByAlarms() })}
}
