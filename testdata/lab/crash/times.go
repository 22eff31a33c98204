package crash

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// times translates the times that AWS and the API server write into those of the functions' clock,
// which stands while functions work. So a trial depends neither on the time of day nor on the
// machine's speed. Nil is for virtual time, in which all times are right already. It is safe for
// concurrent use.
type times struct {
	mutex   sync.Mutex
	moments []moment // at which the clock was set, oldest first
	seen    map[first]time.Time
}

// first is something that was seen for the first time.
type first struct {
	uid   types.UID
	event string
}

const (
	created   = "created"
	deleted   = "deleted"
	scheduled = "scheduled"
)

// moment is a machine's time, and the functions' time from then on.
type moment struct{ real, shown time.Time }

// begin forgets everything. The functions' clock shows the time now.
func (t *times) begin(shown time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.moments = []moment{{time.Now(), shown}}
	t.seen = map[first]time.Time{}
}

// set is for a new time of the functions' clock.
func (t *times) set(shown time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.moments = append(t.moments, moment{time.Now(), shown})
}

// now returns what the functions' clock shows.
func (t *times) now() time.Time {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.moments[len(t.moments)-1].shown
}

// note remembers when an object came to be, was deleted, and came to its node: at the latest, now.
func (t *times) note(object metav1.Object) {
	if t == nil {
		return
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.at(object.GetUID(), created, 0)
	if object.GetDeletionTimestamp() != nil {
		grace := time.Duration(0)
		if seconds := object.GetDeletionGracePeriodSeconds(); seconds != nil {
			grace = time.Duration(*seconds) * time.Second
		}
		t.at(object.GetUID(), deleted, grace)
	}
	if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		t.at(pod.UID, scheduled, 0)
	}
}

// at returns when an event was seen for the first time, and later by the duration. It is called with
// the lock held.
func (t *times) at(uid types.UID, event string, later time.Duration) string {
	key := first{uid, event}
	if _, known := t.seen[key]; !known {
		t.seen[key] = t.moments[len(t.moments)-1].shown.Add(later)
	}
	return t.seen[key].UTC().Format(time.RFC3339)
}

// replace replaces the API server's times in an answer: when objects came to be, were deleted, and
// came to their nodes.
func (t *times) replace(response *http.Response) error {
	if t == nil {
		return nil
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil // an answer without objects
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // keeps numbers as they are
	var content map[string]any
	if err := decoder.Decode(&content); err != nil {
		return err
	}
	if items, list := content["items"].([]any); list {
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				t.replaceIn(object)
			}
		}
	} else {
		t.replaceIn(content)
	}
	if body, err = json.Marshal(content); err != nil {
		return err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Content-Length")
	return nil
}

func (t *times) replaceIn(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	uid, found := metadata["uid"].(string)
	if !found {
		return
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	metadata["creationTimestamp"] = t.at(types.UID(uid), created, 0)
	if _, found := metadata["deletionTimestamp"]; found {
		grace := time.Duration(0)
		if seconds, ok := metadata["deletionGracePeriodSeconds"].(json.Number); ok {
			if whole, err := seconds.Int64(); err == nil {
				grace = time.Duration(whole) * time.Second
			}
		}
		metadata["deletionTimestamp"] = t.at(types.UID(uid), deleted, grace)
	}
	status, _ := object["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		if condition["type"] == string(corev1.PodScheduled) && condition["status"] == string(corev1.ConditionTrue) {
			condition["lastTransitionTime"] = t.at(types.UID(uid), scheduled, 0)
		}
	}
}

// inAWS matches the times in AWS's answers. Times in tags are the functions' own.
var inAWS = regexp.MustCompile(`(<\w*(?:Time|Date)>)(\d{4}-\d\d-\d\dT[0-9:.]+Z)(</)`)

// shift replaces the times in an answer of AWS.
func (t *times) shift(body []byte) []byte {
	return inAWS.ReplaceAllFunc(body, func(found []byte) []byte {
		parts := inAWS.FindSubmatch(found)
		real, err := time.Parse(time.RFC3339, string(parts[2]))
		if err != nil {
			return found
		}
		return slices.Concat(parts[1], []byte(t.shown(real).UTC().Format("2006-01-02T15:04:05.000Z")), parts[3])
	})
}

// shown returns the functions' time at a time of the machine.
func (t *times) shown(real time.Time) time.Time {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	first, last := t.moments[0], t.moments[len(t.moments)-1]
	switch {
	case real.Before(first.real):
		return first.shown.Add(real.Sub(first.real))
	case real.After(time.Now()):
		return last.shown.Add(real.Sub(last.real))
	}
	at := last
	for i := range t.moments[1:] {
		if t.moments[i+1].real.After(real) {
			at = t.moments[i]
			break
		}
	}
	return at.shown
}
