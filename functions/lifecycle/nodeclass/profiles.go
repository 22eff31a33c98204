package nodeclass

import (
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// Profile is an instance profile that Whittle has made.
type Profile struct {
	Name     string
	ClassUID string // of the class that it was made for
}

// profileRest is the time for which nothing must have used a profile before it is deleted. An
// invocation that read a class before its role changed may still launch with the old profile.
const profileRest = time.Hour

// ProfilesOf returns the profiles that were made for the class.
func ProfilesOf(class *api.EC2NodeClass, profiles []Profile) []Profile {
	return slices.DeleteFunc(slices.Clone(profiles), func(profile Profile) bool {
		return profile.ClassUID != string(class.UID)
	})
}

// ProfileInUse reports whether a claim or a class needs the profile, or may need it. The function
// current returns the name of the profile that a class needs.
func ProfileInUse(
	profile Profile, classes []api.EC2NodeClass, claims []api.NodeClaim, current func(*api.EC2NodeClass) string,
) bool {
	owner := "" // the class that the profile was made for; empty if it has gone
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
			// A claim that does not name its profile may have any one of its class.
			return owner == "" && claim.Spec.NodeClassRef.IsEC2NodeClass() || owner != "" && isOf(&claim, owner)
		}
		return false
	})
}

// ProfileStep is what to do with a profile.
type ProfileStep int

// The steps of a profile.
const (
	KeepProfile       ProfileStep = iota
	MarkProfileUnused             // write that it is unused from now on
	UnmarkProfile                 // it is used again
	DeleteProfile
)

// NextOfProfile decides by whether the profile is in use, and since when it was found unused. A
// zero time means that it was not.
func NextOfProfile(inUse bool, unusedSince, now time.Time) ProfileStep {
	switch {
	case inUse && !unusedSince.IsZero():
		return UnmarkProfile
	case inUse:
		return KeepProfile
	case unusedSince.IsZero() || unusedSince.After(now):
		return MarkProfileUnused
	case now.Sub(unusedSince) >= profileRest:
		return DeleteProfile
	}
	return KeepProfile
}
