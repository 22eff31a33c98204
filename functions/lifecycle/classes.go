package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclass"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// workOnClasses holds every class by the finalizer, ends deleted classes that no claim uses, and
// sweeps twice an hour. Each call may be the last one of an invocation: the next tick goes on.
func (p *pass) workOnClasses(ctx context.Context) error {
	s := p.seen
	var failed []error
	for i := range s.owners.classes {
		class := &s.owners.classes[i]
		if finalizers, changed := nodeclass.Finalizers(class); changed {
			failed = append(failed, p.setFinalizers(ctx, class, finalizers))
		}
		if nodeclass.IsEnding(class) {
			failed = append(failed, p.endClass(ctx, class))
		}
	}
	// Without the classes everything would seem unused, and without the instances every template.
	if s.owners.complete && s.listing.answered && p.now().Minute()%sweepEvery == 0 {
		templates := p.sweepTemplates(ctx)
		profiles := p.sweepProfiles(ctx)
		failed = append(failed, templates, profiles)
	}
	return errors.Join(failed...)
}

// setFinalizers writes the finalizers unless the class has changed since it was read.
func (p *pass) setFinalizers(ctx context.Context, class *api.EC2NodeClass, finalizers []string) error {
	return cluster.IgnoreStale(p.client.PatchNodeClass(ctx, class.Name, map[string]any{"metadata": map[string]any{
		"resourceVersion": class.ResourceVersion, "finalizers": finalizers,
	}}))
}

// endClass waits for the claims of a deleted class, deletes what was made for the class in AWS, and
// removes the finalizer last.
func (p *pass) endClass(ctx context.Context, class *api.EC2NodeClass) error {
	// The claims are read after the class, because no claim is written for a deleted class.
	claims, err := p.client.NodeClaims(ctx)
	if err != nil {
		return err
	}
	if holders := nodeclass.Holders(class, claims); len(holders) > 0 {
		p.events.Add(cluster.Event{
			About: disruption.AboutClass(class), Type: corev1.EventTypeNormal, Reason: "WaitingOnNodeClaimTermination",
			Message: nodeclass.WaitingMessage(holders),
		})
		return nil
	}
	templates, err := p.leftovers.LaunchTemplates(ctx)
	if err != nil {
		return err
	}
	templates = nodeclass.TemplatesOf(class, templates)
	for _, template := range templates {
		if err := p.leftovers.DeleteLaunchTemplate(ctx, template.ID); err != nil {
			return err
		}
	}
	if err := p.deleteProfiles(ctx, class); err != nil {
		if fleet.IsDenied(err) {
			p.events.Add(cluster.Event{
				About: disruption.AboutClass(class), Type: corev1.EventTypeWarning, Reason: "FailedTermination",
				Message: "IAM denies lifecycle the instance profiles of spec.role, so that the class stays: " + err.Error(),
			})
		}
		return err
	}
	slog.InfoContext(ctx, "ended ec2nodeclass", "EC2NodeClass", class.Name, "launch-templates", len(templates))
	return p.setFinalizers(ctx, class, nodeclass.Released(class))
}

// deleteProfiles deletes the instance profiles that were made for the class. A class with a profile of
// its own needs none, and IAM may be out of reach or denied for good. The sweep deletes what such a
// class may have had made before.
func (p *pass) deleteProfiles(ctx context.Context, class *api.EC2NodeClass) error {
	if class.Spec.InstanceProfile != nil {
		return nil
	}
	profiles, err := p.leftovers.Profiles(ctx)
	if err != nil {
		return err
	}
	for _, profile := range nodeclass.ProfilesOf(class, profiles) {
		if err := p.leftovers.DeleteProfile(ctx, profile.Name); err != nil {
			return err
		}
	}
	return nil
}

// sweepTemplates deletes the launch templates that nothing uses.
func (p *pass) sweepTemplates(ctx context.Context) error {
	templates, err := p.leftovers.LaunchTemplates(ctx)
	if err != nil {
		return err
	}
	var used []string
	for _, instance := range p.seen.listing.instances {
		used = append(used, instance.Tags[fleet.LaunchTemplateTagKey])
	}
	var failed []error
	for _, template := range nodeclass.IdleTemplates(templates, used, p.seen.claims, p.now()) {
		if err := p.leftovers.DeleteLaunchTemplate(ctx, template.ID); err != nil {
			failed = append(failed, err)
			continue
		}
		slog.InfoContext(ctx, "deleted unused launch template",
			"launch-template", template.Name, "EC2NodeClass", template.Class)
	}
	return errors.Join(failed...)
}

// sweepProfiles deletes the instance profiles that nothing uses.
func (p *pass) sweepProfiles(ctx context.Context) error {
	s := p.seen
	profiles, err := p.leftovers.Profiles(ctx)
	if fleet.IsUnanswered(err) || fleet.IsDenied(err) {
		// Neither a VPC without a way to IAM nor a policy against IAM is a reason to repeat the whole pass.
		slog.WarnContext(ctx, "IAM does not answer or is denied: unused instance profiles stay", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	var failed []error
	for _, profile := range profiles {
		inUse := nodeclass.ProfileInUse(profile, s.owners.classes, s.claims, p.leftovers.ProfileName)
		failed = append(failed, p.sweepProfile(ctx, profile, inUse))
	}
	return errors.Join(failed...)
}

func (p *pass) sweepProfile(ctx context.Context, profile nodeclass.Profile, inUse bool) error {
	since, own, err := p.leftovers.ProfileUnusedSince(ctx, profile.Name)
	if err != nil || !own {
		return err
	}
	switch nodeclass.NextOfProfile(inUse, since, p.now()) {
	case nodeclass.MarkProfileUnused:
		return p.leftovers.MarkProfileUnused(ctx, profile.Name, p.now())
	case nodeclass.UnmarkProfile:
		return p.leftovers.MarkProfileUnused(ctx, profile.Name, time.Time{})
	case nodeclass.DeleteProfile:
		slog.InfoContext(ctx, "deleting unused instance profile", "instance-profile", profile.Name)
		return p.leftovers.DeleteProfile(ctx, profile.Name)
	case nodeclass.KeepProfile:
	}
	return nil
}
