package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/shared/cluster"
)

const (
	// settleTime is how long a new policy, access entry or definition may take to work.
	settleTime = time.Minute
	// pause is the time between two tries. This function may sleep, because CloudFormation waits
	// for it.
	pause = 100 * time.Millisecond
	// deniedPause is the pause after IAM refused a call. Accounts have few calls to EKS a second.
	deniedPause = time.Second
)

// settling is the cluster and AWS while this function's access entry and its role's policies may be
// new. The API servers learn of the entry one by one, and IAM spreads a policy in the same way, so
// that any call may be refused after others succeeded. Each method repeats a refused call until
// settleTime after newSettling.
type settling struct {
	client   *cluster.Client // set by connect
	now      func() time.Time
	deadline time.Time
}

func newSettling(now func() time.Time) *settling {
	return &settling{now: now, deadline: now().Add(settleTime)}
}

// connect finds the cluster, which needs rights in AWS.
func (s *settling) connect(ctx context.Context, connection connection) error {
	return s.settled(ctx, func() (err error) {
		s.client, err = connection.Client(ctx)
		return err
	})
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

// arrived returns the queues by which test events came.
func (s *settling) arrived(ctx context.Context, id string) (queues map[string]bool, err error) {
	err = s.settled(ctx, func() error {
		queues, err = s.client.Arrived(ctx, id)
		return err
	})
	return queues, err
}

func (s *settling) settled(ctx context.Context, call func() error) error {
	var refusal error // of the call before
	for {
		err := call()
		switch refused := notLetIn(err) || denied(err); {
		case !refused && (err == nil || refusal == nil || answered(err)):
			return err
		case !refused:
			err = errors.Join(refusal, err) // the time was up during the call, and the refusal is the cause
		case s.now().Before(s.deadline):
			next := pause
			if denied(err) {
				next = deniedPause
			}
			ended := wait(ctx, next)
			if ended == nil {
				refusal = err
				continue
			}
			err = errors.Join(err, ended) // what was waited for, and that the time is up
		}
		if denied(err) {
			return err // it names the right
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

// denied reports whether IAM does not allow this function's role a call to AWS.
func denied(err error) bool {
	var refused smithy.APIError
	return errors.As(err, &refused) &&
		slices.Contains([]string{"AccessDenied", "AccessDeniedException"}, refused.ErrorCode())
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
