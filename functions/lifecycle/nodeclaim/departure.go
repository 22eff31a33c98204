package nodeclaim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/disruption"
)

// departsSoon reports whether AWS takes the instance soon, by what it has announced.
func (p *pass) departsSoon() bool {
	departure, announced := disruption.DepartureOf(p.claim)
	return announced && departure.Near(p.now)
}

// deleteBeforeDeparture deletes the claim with the departure as the limit of its drain.
func (p *pass) deleteBeforeDeparture() bool {
	departure, _ := disruption.DepartureOf(p.claim)
	if patch := disruption.EndBy(p.claim, departure.At, p.now); patch != nil {
		p.do(PatchClaim{Patch: patch})
	}
	return p.delete("deleting nodeclaim before its instance is taken",
		"reason", departure.Because, "at", departure.At)
}

// rememberDepartures writes on the claim when EC2 takes the instance for announced work, as the
// events of AWS Health do. It removes a time that EC2 does not announce any more.
func (p *pass) rememberDepartures() {
	if !p.view.StatusRead {
		return
	}
	known, announced := disruption.DepartureOf(p.claim)
	sameEvent := func(d disruption.Departure) bool { return d.Because == known.Because }
	stands := slices.ContainsFunc(p.view.Departures, sameEvent)
	if announced && known.OfInstanceStatus() && !stands {
		p.annotate(disruption.DepartsAtAnnotationKey, "")
		p.annotate(disruption.DepartsBecauseAnnotationKey, "")
	}
	for _, departure := range p.view.Departures {
		if disruption.MarkDeparture(p.claim, departure) == nil {
			continue
		}
		at := departure.At.UTC().Format(time.RFC3339)
		p.annotate(disruption.DepartsAtAnnotationKey, at)
		p.annotate(disruption.DepartsBecauseAnnotationKey, departure.Because)
		p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, "InstanceUnhealthy",
			fmt.Sprintf("EC2 has announced work on the instance at %s: %s", at, departure.Because))
	}
}
