package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/shared/cluster"
)

const (
	// settleTime is how long a new access entry, or a new definition, may take to work.
	settleTime = time.Minute
	// pause is the time between two tries. This function may sleep, because CloudFormation waits
	// for it.
	pause = 100 * time.Millisecond
)

// settling is the cluster while this function's access entry may be new. Its API servers learn of
// the entry one by one, so that any call may be refused after others succeeded. Each method repeats
// a refused call until settleTime after newSettling.
type settling struct {
	client   *cluster.Client
	deadline time.Time
}

func newSettling(client *cluster.Client) *settling {
	return &settling{client: client, deadline: time.Now().Add(settleTime)}
}

// definition returns nil, and no error, when the definition does not exist.
func (s *settling) definition(ctx context.Context, name string) (definition *cluster.Definition, err error) {
	err = s.settled(ctx, func() error {
		definition, err = s.client.CustomResourceDefinition(ctx, name)
		return err
	})
	return definition, err
}

func (s *settling) apply(ctx context.Context, object *unstructured.Unstructured) error {
	return s.settled(ctx, func() error { return s.client.Apply(ctx, object) })
}

// allowed reports whether the function that the need names has the right.
func (s *settling) allowed(ctx context.Context, n need) (allowed bool, err error) {
	resource, subresource, _ := strings.Cut(n.resource, "/")
	err = s.settled(ctx, func() error {
		allowed, err = s.client.Allowed(
			ctx, []string{"whittle:" + n.function}, n.verb, n.group, resource, subresource, n.namespace,
		)
		return err
	})
	return allowed, err
}

func (s *settling) settled(ctx context.Context, call func() error) error {
	for {
		err := call()
		if !notLetIn(err) {
			return err
		}
		if time.Now().Before(s.deadline) {
			ended := wait(ctx)
			if ended == nil {
				continue
			}
			err = errors.Join(err, ended) // what was waited for, and that the time is up
		}
		return fmt.Errorf(
			"%w: is the access entry of this function's role there, and the cluster's authentication mode API or "+
				"API_AND_CONFIG_MAP?",
			err,
		)
	}
}

// notLetIn reports whether the cluster does not know this function or its rights.
func notLetIn(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }

func wait(ctx context.Context) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
