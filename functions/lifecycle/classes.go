package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclass"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// sweepEvery is how often what nothing uses is looked for, in minutes of the hour:
// Karpenter's interval.
const sweepEvery = 30

// leftovers is what was made in AWS for node classes.
type leftovers interface {
	LaunchTemplates(context.Context) ([]fleet.Template, error)
	DeleteLaunchTemplate(ctx context.Context, id string) error
	Profiles(context.Context) ([]fleet.Profile, error)
	ProfileName(*api.EC2NodeClass) string
	RepairProfile(context.Context, *api.EC2NodeClass) error
	ProfileUnusedSince(ctx context.Context, name string) (since time.Time, own bool, err error)
	MarkProfileUnused(ctx context.Context, name string, since time.Time) error
	DeleteProfile(ctx context.Context, name string) error
}

// made is leftovers in AWS.
type made struct {
	*fleet.Client
	profiles fleet.Profiles
}

func (m made) Profiles(ctx context.Context) ([]fleet.Profile, error) { return m.profiles.List(ctx) }
func (m made) ProfileName(class *api.EC2NodeClass) string            { return m.profiles.Name(class) }
func (m made) RepairProfile(ctx context.Context, class *api.EC2NodeClass) error {
	return m.profiles.Repair(ctx, class)
}
func (m made) ProfileUnusedSince(ctx context.Context, name string) (time.Time, bool, error) {
	return m.profiles.UnusedSince(ctx, name)
}
func (m made) MarkProfileUnused(ctx context.Context, name string, since time.Time) error {
	return m.profiles.MarkUnused(ctx, name, since)
}
func (m made) DeleteProfile(ctx context.Context, name string) error {
	return m.profiles.Delete(ctx, name)
}

// keepClasses holds every class by the finalizer, lets those go that nothing was
// launched with any more, and sweeps now and then. Each step may be the last of
// an invocation: the next tick goes on.
func (p *performer) keepClasses(ctx context.Context, s *seen) error {
	var failed []error
	for i := range s.classes {
		class := &s.classes[i]
		if finalizers, changed := nodeclass.Finalizers(class); changed {
			failed = append(failed, p.setFinalizers(ctx, class, finalizers))
		}
		if nodeclass.Leaving(class) {
			failed = append(failed, p.endClass(ctx, class))
		}
	}
	// Without the classes all would seem unused; without the instances every template.
	if s.classesListed && s.listed && p.now().Minute()%sweepEvery == 0 {
		failed = append(failed, p.sweepTemplates(ctx, s), p.sweepProfiles(ctx, s))
	}
	return errors.Join(failed...)
}

// setFinalizers writes them unless the class has changed since it was read.
func (p *performer) setFinalizers(ctx context.Context, class *api.EC2NodeClass, finalizers []string) error {
	err := p.client.PatchNodeClass(ctx, class.Name, map[string]any{"metadata": map[string]any{
		"resourceVersion": class.ResourceVersion, "finalizers": finalizers,
	}})
	if cluster.IsConflict(err) || cluster.IsGone(err) {
		return nil // the next tick has it as it is
	}
	return err
}

// endClass waits for the class's claims, deletes what was made for the class, and
// lets go of it last.
func (p *performer) endClass(ctx context.Context, class *api.EC2NodeClass) error {
	// Read after the class: no claim is written any more for one that is being deleted.
	claims, err := p.client.NodeClaims(ctx)
	if err != nil {
		return err
	}
	if holders := nodeclass.Holders(class, claims); len(holders) > 0 {
		p.events.Add(cluster.Event{
			About: corev1.ObjectReference{APIVersion: api.EC2NodeClassGVR().GroupVersion().String(), Kind: api.EC2NodeClassKind, Name: class.Name, UID: class.UID},
			Type:  corev1.EventTypeNormal, Reason: "WaitingOnNodeClaimTermination", Message: "Waiting on NodeClaim termination for " + some(holders),
		})
		return nil
	}
	templates, err := p.leftovers.LaunchTemplates(ctx)
	if err != nil {
		return err
	}
	for _, template := range nodeclass.TemplatesOf(class, templates) {
		if err := p.leftovers.DeleteLaunchTemplate(ctx, template.ID); err != nil {
			return err
		}
	}
	profiles, err := p.leftovers.Profiles(ctx)
	if err != nil {
		return err
	}
	for _, profile := range profiles {
		if profile.ClassUID != string(class.UID) {
			continue
		}
		if err := p.leftovers.DeleteProfile(ctx, profile.Name); err != nil {
			return err
		}
	}
	slog.InfoContext(ctx, "ended ec2nodeclass", "EC2NodeClass", class.Name, "launch-templates", len(nodeclass.TemplatesOf(class, templates)))
	return p.setFinalizers(ctx, class, slices.DeleteFunc(slices.Clone(class.Finalizers), func(finalizer string) bool {
		return finalizer == api.EC2NodeClassTerminationFinalizer
	}))
}

// some names the first few.
func some(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:few], ", "), len(names)-few)
}

func (p *performer) sweepTemplates(ctx context.Context, s *seen) error {
	templates, err := p.leftovers.LaunchTemplates(ctx)
	if err != nil {
		return err
	}
	var tags []map[string]string
	for _, instance := range s.instances {
		tags = append(tags, instance.Tags)
	}
	var failed []error
	for _, template := range nodeclass.IdleTemplates(templates, tags, s.claims, p.now()) {
		if err := p.leftovers.DeleteLaunchTemplate(ctx, template.ID); err != nil {
			failed = append(failed, err)
			continue
		}
		slog.InfoContext(ctx, "deleted unused launch template", "launch-template", template.Name, "EC2NodeClass", template.Class)
	}
	return errors.Join(failed...)
}

func (p *performer) sweepProfiles(ctx context.Context, s *seen) error {
	profiles, err := p.leftovers.Profiles(ctx)
	if err != nil {
		return err
	}
	failed := []error{p.repairProfiles(ctx, s.classes, profiles)}
	for _, profile := range profiles {
		failed = append(failed, p.sweepProfile(ctx, profile, nodeclass.ProfileInUse(profile, s.classes, s.claims, p.leftovers.ProfileName)))
	}
	return errors.Join(failed...)
}

// repairProfiles makes those anew that someone has deleted from under a class.
func (p *performer) repairProfiles(ctx context.Context, classes []api.EC2NodeClass, profiles []fleet.Profile) error {
	var failed []error
	for i := range classes {
		class := &classes[i]
		name := p.leftovers.ProfileName(class)
		there := slices.ContainsFunc(profiles, func(profile fleet.Profile) bool { return profile.Name == name })
		if name != "" && !there && class.Status.InstanceProfile == name && class.DeletionTimestamp == nil {
			failed = append(failed, p.leftovers.RepairProfile(ctx, class))
		}
	}
	return errors.Join(failed...)
}

func (p *performer) sweepProfile(ctx context.Context, profile fleet.Profile, inUse bool) error {
	since, own, err := p.leftovers.ProfileUnusedSince(ctx, profile.Name)
	if err != nil || !own {
		return err
	}
	switch nodeclass.NextOfProfile(inUse, since, p.now()) {
	case nodeclass.ProfileMarked:
		return p.leftovers.MarkProfileUnused(ctx, profile.Name, p.now())
	case nodeclass.ProfileUnmarked:
		return p.leftovers.MarkProfileUnused(ctx, profile.Name, time.Time{})
	case nodeclass.ProfileGoes:
		slog.InfoContext(ctx, "deleting unused instance profile", "instance-profile", profile.Name)
		return p.leftovers.DeleteProfile(ctx, profile.Name)
	}
	return nil
}
