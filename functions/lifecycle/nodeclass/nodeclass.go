// Package nodeclass decides about the end of EC2NodeClasses and of what was made
// in AWS for them: instance profiles and launch templates. It is pure.
package nodeclass

import (
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
)

const (
	// profileRest is how long nothing must have used a profile before it goes: an
	// invocation that has read a class before its role was changed may still be about
	// to write a claim and launch with it.
	profileRest = time.Hour
	// templateRest is how old a launch template is at least before it may go.
	templateRest = time.Hour
)

// Finalizers are what the class's finalizers should be, and whether they are not.
// A class is held from the time it is first seen, as a profile is made for it
// then.
func Finalizers(class *api.EC2NodeClass) (finalizers []string, changed bool) {
	if class.DeletionTimestamp != nil || slices.Contains(class.Finalizers, api.EC2NodeClassTerminationFinalizer) {
		return class.Finalizers, false
	}
	return append(slices.Clone(class.Finalizers), api.EC2NodeClassTerminationFinalizer), true
}

// Leaving tells whether the class is being deleted and waits for us.
func Leaving(class *api.EC2NodeClass) bool {
	return class.DeletionTimestamp != nil && slices.Contains(class.Finalizers, api.EC2NodeClassTerminationFinalizer)
}

// Holders are the names of the claims that were made with the class, sorted.
func Holders(class *api.EC2NodeClass, claims []api.NodeClaim) []string {
	var names []string
	for i := range claims {
		if isOf(&claims[i], class.Name) {
			names = append(names, claims[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

func isOf(claim *api.NodeClaim, class string) bool {
	return claim.Spec.NodeClassRef.IsEC2NodeClass() && claim.Spec.NodeClassRef.Name == class
}

// ProfileInUse tells whether a claim or a class needs the profile, or may. current
// is the name of the profile that a class needs.
func ProfileInUse(profile fleet.Profile, classes []api.EC2NodeClass, claims []api.NodeClaim, current func(*api.EC2NodeClass) string) bool {
	owner := "" // the class that the profile was made for; empty if it is no more
	for i := range classes {
		if classes[i].Status.InstanceProfile == profile.Name || current(&classes[i]) == profile.Name {
			return true
		}
		if string(classes[i].UID) == profile.ClassUID {
			owner = classes[i].Name
		}
	}
	return slices.ContainsFunc(claims, func(claim api.NodeClaim) bool {
		switch claim.Annotations[api.AnnotationInstanceProfile] {
		case profile.Name:
			return true
		case "":
			// A claim that does not say its profile may have any of its class's.
			return owner == "" && claim.Spec.NodeClassRef.IsEC2NodeClass() || owner != "" && isOf(&claim, owner)
		}
		return false
	})
}

// ProfileStep is what to do with a profile.
type ProfileStep int

const (
	ProfileStays    ProfileStep = iota
	ProfileMarked               // as unused from now on
	ProfileUnmarked             // it is used again
	ProfileGoes
)

// NextOfProfile decides by whether the profile is in use, and since when it was
// found not to be (zero: it was not).
func NextOfProfile(inUse bool, unusedSince, now time.Time) ProfileStep {
	switch {
	case inUse && !unusedSince.IsZero():
		return ProfileUnmarked
	case inUse:
		return ProfileStays
	case unusedSince.IsZero() || unusedSince.After(now):
		return ProfileMarked
	case now.Sub(unusedSince) >= profileRest:
		return ProfileGoes
	}
	return ProfileStays
}

// IdleTemplates are the launch templates that can go: old ones, from which none
// of the instances was launched, of classes without a claim that waits for its
// instance. A template that goes too early costs one call: whoever needs it makes
// it anew, also one that remembers having made it.
func IdleTemplates(templates []fleet.Template, instances []map[string]string, claims []api.NodeClaim, now time.Time) []fleet.Template {
	used := map[string]bool{}
	for _, tags := range instances {
		used[tags[fleet.LaunchTemplateTagKey]] = true
	}
	return slices.DeleteFunc(slices.Clone(templates), func(template fleet.Template) bool {
		return used[template.ID] || now.Sub(template.Created) < templateRest || slices.ContainsFunc(claims, func(claim api.NodeClaim) bool {
			return isOf(&claim, template.Class) && claim.Status.ProviderID == ""
		})
	})
}

// TemplatesOf are the launch templates that were made for the class.
func TemplatesOf(class *api.EC2NodeClass, templates []fleet.Template) []fleet.Template {
	return slices.DeleteFunc(slices.Clone(templates), func(template fleet.Template) bool { return template.Class != class.Name })
}
