package cluster

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsGone reports whether the object of a call does not exist, or exists no more.
func IsGone(err error) bool { return apierrors.IsNotFound(err) }

// IsConflict reports whether the object of a call has changed since it was read, or exists although
// it should have been created.
func IsConflict(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// IsStale reports whether the object of a call has changed since it was read, or has gone. That is
// no failure: whoever changed it has seen the same facts, and the next pass reads it again.
func IsStale(err error) bool { return IsConflict(err) || IsGone(err) }

// IgnoreStale returns nil for an error that IsStale reports, and any other error as it is.
func IgnoreStale(err error) error {
	if IsStale(err) {
		return nil
	}
	return err
}

// IsForbidden reports whether the API server denied the function the right to a call.
func IsForbidden(err error) bool { return apierrors.IsForbidden(err) }

// IsUnauthorized reports whether the API server does not know who calls. A role without an access
// entry is nobody.
func IsUnauthorized(err error) bool { return apierrors.IsUnauthorized(err) }

// IsEvictionRefused reports whether the disruption budgets of a pod forbade its eviction. The API
// server answers with too many requests, or with an internal error for a pod of several budgets.
func IsEvictionRefused(err error) bool {
	return apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "PodDisruptionBudget")
}

// IsExpired reports whether the API server no longer knows the version from which a list or a watch
// should continue. Only a new list tells the present state.
func IsExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
