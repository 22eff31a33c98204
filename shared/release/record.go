package release

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// longestWhy bounds the words of a Record, in bytes.
const longestWhy = 400

// Record is what has to be remembered of a pool's release. All else follows from the objects.
type Record struct {
	// Release is the ID of what claims would be made from. Empty means that none was seen.
	Release string `json:"release"`
	// Since is when it was seen first. Claims from then on are its new nodes.
	Since time.Time `json:"since"`
	// Halted is when it was found to do worse, or zero. Why says how.
	Halted time.Time `json:"halted,omitzero"`
	Why    string    `json:"why,omitempty"`
}

// Text is the record as it is stored.
func (r Record) Text() string {
	encoded, err := json.Marshal(r)
	if err != nil { // a time after the year 9999
		return "{}"
	}
	return string(encoded)
}

// ReadRecord reads a stored record. One that cannot be read is none: the release begins again, with
// one node.
func ReadRecord(text string) Record {
	var read Record
	if json.Unmarshal([]byte(text), &read) != nil {
		return Record{}
	}
	return read
}

// ID names what the claims of the pool would be made from now, or is empty where that is not known.
// The hashes are those that decide drift. Security groups, subnets and reservations are left out:
// they may change by themselves, and a release that was halted would begin again.
func ID(pool *api.NodePool, class *api.EC2NodeClass, poolHash, classHash string) string {
	if class == nil || len(class.Status.AMIs) == 0 || len(pool.Unreadable) > 0 {
		return ""
	}
	images := make([]string, 0, len(class.Status.AMIs))
	for i := range class.Status.AMIs {
		images = append(images, class.Status.AMIs[i].ID)
	}
	slices.Sort(images)
	requirements, err := json.Marshal(pool.Spec.Template.Spec.Requirements)
	if err != nil {
		return ""
	}
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s\x00%s\x00%s\x00%q\x00%s", class.Name, poolHash, classHash, slices.Compact(images), requirements)
	return fmt.Sprintf("%016x", sum.Sum64())
}

// next is the record of the release of this ID.
func (r Record) next(id string, now time.Time) Record {
	if id == "" || id == r.Release {
		return r
	}
	return Record{Release: id, Since: now.UTC().Truncate(time.Second)}
}

// halt adds the first reason for which the release is worse.
func (r Record) halt(why string, now time.Time) Record {
	if why == "" || !r.Halted.IsZero() {
		return r
	}
	if len(why) > longestWhy {
		why = why[:longestWhy-3] + "..."
	}
	r.Halted, r.Why = now.UTC().Truncate(time.Second), why
	return r
}
