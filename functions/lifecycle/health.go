package main

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// checkInstances asks EC2 which instances fail their status checks or have work announced;
// where the cluster has none it does not ask. Without the answer the kubelets' word and
// Health's events are gone by, and the next tick asks again.
func (s *seen) checkInstances(ctx context.Context, ec2 instances) {
	for i := range s.claims {
		if claim := &s.claims[i]; claim.Spec.NodeClassRef.IsEC2NodeClass() && claim.Status.ProviderID != "" {
			statuses, err := ec2.Statuses(ctx)
			if err != nil {
				slog.WarnContext(ctx, "instances are not checked", "error", err)
				return
			}
			s.statuses = statuses
			return
		}
	}
}

// examine finds, on a tick, the nodes that are to be repaired and what is to be done to
// their instances, and says so in the views.
func (s *seen) examine(now time.Time) {
	if !s.tick {
		return
	}
	var patients []disruption.Patient
	for i := range s.views {
		view := &s.views[i]
		id, _ := api.InstanceID(view.Claim.Status.ProviderID)
		status := s.statuses[id]
		view.StatusRead = s.statuses != nil
		for _, event := range status.Events {
			view.Departures = append(view.Departures, disruption.Departure{At: event.NotBefore, Because: event.ID})
		}
		if len(view.Nodes) == 1 {
			patients = append(patients, disruption.Patient{Claim: view.Claim, Node: view.Nodes[0], Impairment: impairment(status)})
		}
	}
	due, blocked := disruption.Repairs(patients, now)
	for i := range s.views {
		if sickness, sick := due[s.views[i].Claim.Name]; sick {
			s.views[i].Sickness = &sickness
		}
	}
	s.blocked = blocked
}

// impairment is the check that has failed for longest, or nil.
func impairment(status fleet.Status) *disruption.Impairment {
	system := &disruption.Impairment{Check: "SystemStatus", Since: status.SystemImpaired}
	instance := &disruption.Impairment{Check: "InstanceStatus", Since: status.InstanceImpaired}
	switch {
	case !system.Since.IsZero() && (instance.Since.IsZero() || !instance.Since.Before(system.Since)):
		return system
	case !instance.Since.IsZero():
		return instance
	}
	return nil
}

// tellBlocked says on each pool that too many of its nodes are sick for any to be repaired.
func (p *performer) tellBlocked(ctx context.Context, s *seen) {
	for _, ward := range s.blocked {
		slog.WarnContext(ctx, "node repair is blocked", "NodePool", ward.Pool, "nodes", ward.Nodes, "unhealthy", ward.Unhealthy, "waiting", ward.Waiting)
		for i := range s.pools {
			if pool := &s.pools[i]; pool.Name == ward.Pool {
				p.events.Add(cluster.Event{About: disruption.AboutPool(pool), Type: corev1.EventTypeWarning, Reason: api.ConditionTypeNodeRepairBlocked, Message: ward.String()})
			}
		}
	}
}
