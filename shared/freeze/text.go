package freeze

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// keyOfCluster is the key of the ConfigMap's data for the whole cluster, and poolPrefix begins that
// of a NodePool.
const (
	keyOfCluster = "freeze"
	poolPrefix   = keyOfCluster + "."
)

// fields are the names of the lines of a value.
const (
	fieldWho      = "who"
	fieldReason   = "reason"
	fieldSince    = "since"
	fieldUntil    = "until"
	fieldLaunches = "launches"
	fieldDrains   = "drains"
)

// KeyOf is the key of the freeze of the pool, or of the whole cluster for an empty name.
func KeyOf(pool string) string {
	if pool == "" {
		return keyOfCluster
	}
	return poolPrefix + pool
}

// Text is the value of the freeze's key.
func (f *Freeze) Text() string {
	var text strings.Builder
	line := func(field, value string) { fmt.Fprintf(&text, "%s: %s\n", field, value) }
	line(fieldWho, strconv.Quote(f.Who))
	if f.Reason != "" {
		line(fieldReason, strconv.Quote(f.Reason))
	}
	line(fieldSince, f.Since.UTC().Format(time.RFC3339))
	if !f.Until.IsZero() {
		line(fieldUntil, f.Until.UTC().Format(time.RFC3339))
	}
	if f.Launches {
		line(fieldLaunches, "true")
	}
	if f.Drains {
		line(fieldDrains, "true")
	}
	return text.String()
}

// Read reads the freezes in the data of the ConfigMap. It leaves other keys alone. One that only
// looks like a freeze's freezes the whole cluster, because nobody knows what it was to freeze.
func Read(data map[string]string) *Freezes {
	read := &Freezes{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		pool, isPool := strings.CutPrefix(key, poolPrefix)
		switch {
		case key == keyOfCluster:
			pool = ""
		case isPool && pool != "":
		case strings.HasPrefix(strings.ToLower(key), keyOfCluster):
			read.All = append(read.All, Freeze{Key: key, Problem: fmt.Sprintf(
				"data.%s is no key: write data.%s, or data.%sNAME for a NodePool, or remove it", key, keyOfCluster, poolPrefix)})
			continue
		default:
			continue
		}
		one := parse(key, data[key])
		one.Key, one.Pool = key, pool
		read.All = append(read.All, one)
	}
	read.All = append(read.All, byAlarms(data)...)
	if len(read.All) == 0 {
		return nil
	}
	slices.SortStableFunc(read.All, func(a, b Freeze) int { return cmp.Compare(a.Pool, b.Pool) })
	return read
}

// parse reads the value of a key. With a Problem, which is the first, it has the fields that it
// could read.
func parse(key, text string) Freeze {
	var read Freeze
	problem := func(field, value, remedy string) {
		read.Problem = cmp.Or(read.Problem, fmt.Sprintf("data.%s: %s: %q %s", key, field, value, remedy))
	}
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		field, value = strings.TrimSpace(field), strings.TrimSpace(value)
		if seen[field] {
			problem(field, value, "comes twice: leave one line")
			continue
		}
		seen[field] = true
		value, err := unquote(value)
		if err != nil {
			problem(field, value, "has a quote too many or too few: write the text without quotes, or between two")
			continue
		}
		if remedy := read.set(field, value); remedy != "" {
			problem(field, value, remedy)
		}
	}
	if len(seen) == 0 {
		read.Problem = fmt.Sprintf("data.%s is empty: write a line such as %s: 2026-03-02T07:00:00Z, or remove the key",
			key, fieldUntil)
	}
	return read
}

// unquote removes the quotes around a text, of the kinds that people write.
func unquote(value string) (string, error) {
	quoted := strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'")
	switch {
	case !quoted:
		return value, nil
	case value[0] == '"':
		read, err := strconv.Unquote(value)
		if err != nil {
			return value, err
		}
		return read, nil
	case len(value) < 2 || !strings.HasSuffix(value, "'"):
		return value, strconv.ErrSyntax
	}
	return strings.ReplaceAll(value[1:len(value)-1], "''", "'"), nil
}

// set sets a field. The remedy is for a value that it cannot have, and empty otherwise.
func (f *Freeze) set(field, value string) (remedy string) {
	switch field {
	case fieldWho:
		f.Who = value
	case fieldReason:
		f.Reason = value
	case fieldSince:
		return setTime(&f.Since, value)
	case fieldUntil:
		return setTime(&f.Until, value)
	case fieldLaunches:
		return setSwitch(&f.Launches, value)
	case fieldDrains:
		return setSwitch(&f.Drains, value)
	default:
		return "is of no known field: write one of " + strings.Join([]string{
			fieldWho, fieldReason, fieldSince, fieldUntil, fieldLaunches, fieldDrains}, ", ")
	}
	return ""
}

func setTime(at *time.Time, value string) (remedy string) {
	read, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return "is not a time: write one such as 2026-03-02T07:00:00Z, or remove the line"
	}
	*at = read
	return ""
}

func setSwitch(on *bool, value string) (remedy string) {
	if value != "true" && value != "false" {
		return "is not a switch: write true or false"
	}
	*on = value == "true"
	return ""
}
