package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"time"
	"unicode/utf8"
)

const (
	freezeOrderType = "whittle.freeze"
	thawOrderType   = "whittle.thaw"
)

// Limits of an order's texts, in characters. The names are those of Kubernetes objects.
const (
	longestPool   = 240
	longestReason = 256
	longestWho    = 128
)

// poolName is the form of a NodePool's name.
var poolName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// FreezeOrder is an event by which others freeze what Whittle begins by itself, as `whittle freeze`
// does. Its source is anybody's.
type FreezeOrder struct {
	// Cluster is the cluster that it is about, or empty for each cluster that gets the event.
	Cluster string
	// NodePool is empty for the whole cluster.
	NodePool string
	// Who orders it, and why.
	Who, Reason string
	// Until is when it ends. It is zero where the event does not say.
	Until time.Time
}

// ThawOrder is an event that ends such a freeze.
type ThawOrder struct{ Cluster, NodePool, Who string }

// order is the detail of both in JSON.
type order struct {
	Cluster  string `json:"cluster,omitempty"`
	NodePool string `json:"nodePool,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Until    string `json:"until,omitempty"`
	Who      string `json:"who,omitempty"`
}

// DetailType returns the event's detail-type.
func (d *FreezeOrder) DetailType() string { return freezeOrderType }

// Instances returns nothing.
func (d *FreezeOrder) Instances() []string { return nil }

func (d *FreezeOrder) source() string { return "" }

func (d *FreezeOrder) resources(string, string) []string { return nil }

// MarshalJSON writes the detail.
func (d *FreezeOrder) MarshalJSON() ([]byte, error) {
	return json.Marshal(order{d.Cluster, d.NodePool, d.Reason, writeTime(d.Until), d.Who})
}

// DetailType returns the event's detail-type.
func (d *ThawOrder) DetailType() string { return thawOrderType }

// Instances returns nothing.
func (d *ThawOrder) Instances() []string { return nil }

func (d *ThawOrder) source() string { return "" }

func (d *ThawOrder) resources(string, string) []string { return nil }

// MarshalJSON writes the detail.
func (d *ThawOrder) MarshalJSON() ([]byte, error) {
	return json.Marshal(order{Cluster: d.Cluster, NodePool: d.NodePool, Who: d.Who})
}

func readFreezeOrder(e envelope) (Detail, error) {
	in, err := readOrder(e)
	if err != nil {
		return nil, err
	}
	until, err := readTime("detail.until", in.Until)
	if err != nil {
		return nil, err
	}
	return &FreezeOrder{Cluster: in.Cluster, NodePool: in.NodePool, Who: in.Who, Reason: in.Reason, Until: until}, nil
}

func readThawOrder(e envelope) (Detail, error) {
	in, err := readOrder(e)
	if err != nil {
		return nil, err
	}
	return &ThawOrder{Cluster: in.Cluster, NodePool: in.NodePool, Who: in.Who}, nil
}

// readOrder reads the fields that both have.
func readOrder(e envelope) (order, error) {
	var in order
	// A misspelt nodePool would freeze the whole cluster.
	decoder := json.NewDecoder(bytes.NewReader(e.Detail))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return in, &FieldError{
			Field: "detail", Problem: fmt.Sprintf("has not the form of an event %q: %v", e.DetailType, err),
		}
	}
	switch {
	case in.NodePool != "" && (len(in.NodePool) > longestPool || !poolName.MatchString(in.NodePool)):
		return in, wrong("detail.nodePool", shortened(in.NodePool), "the name of a NodePool")
	case utf8.RuneCountInString(in.Reason) > longestReason:
		return in, wrong("detail.reason", shortened(in.Reason), fmt.Sprintf("at most %d characters", longestReason))
	case utf8.RuneCountInString(in.Who) > longestWho:
		return in, wrong("detail.who", shortened(in.Who), fmt.Sprintf("at most %d characters", longestWho))
	}
	return in, nil
}

// shortened is the beginning of a text that is too long for an error.
func shortened(text string) string { return fmt.Sprintf("%.40s", text) }
