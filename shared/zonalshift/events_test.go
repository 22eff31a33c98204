package zonalshift_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

func TestShiftsAreAnnounced(t *testing.T) {
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "class",
	}
	class := api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}}
	class.Status.Subnets = []api.Subnet{{Zone: "us-east-1a", ZoneID: "use1-az1"}, {Zone: "us-east-1b", ZoneID: "use1-az2"}}
	until := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var said []string
	for _, event := range zonalshift.Events(
		zonalshift.Change{Begun: []string{"use1-az1", "use1-az3"}, Ended: []string{"use1-az2"}},
		map[string]time.Time{"use1-az1": until, "use1-az3": until}, []api.NodePool{pool}, []api.EC2NodeClass{class},
	) {
		said = append(said, fmt.Sprint(event.About.Name, " ", event.Type, " ", event.Reason, ": ", event.Message))
	}
	want := []string{
		"default Warning ZonalShiftActive: A zonal shift moves traffic away from the zone use1-az1 until " +
			"2026-03-01T12:00:00Z: no node is launched or disrupted there",
		"default Normal ZonalShiftCleared: The zonal shift away from the zone use1-az2 has ended",
	}
	if !slices.Equal(said, want) {
		t.Errorf("the events are %q, want %q", said, want)
	}
}
