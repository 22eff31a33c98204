package launching

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/classes"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// reportFailure reports a failed attempt on its claims. The launch does not depend on it, so that a
// claim that cannot be written is only logged.
func (l *Launcher) reportFailure(ctx context.Context, step attempt.ReportFailure) {
	claims := step.Claims
	level := slog.LevelInfo
	if !step.Expected {
		level = slog.LevelWarn
		l.Metrics.Write(metrics.Count(metrics.LaunchFailures, float64(len(claims))))
		l.warn(disruption.AboutClaim(&claims[0]), step.Reason, step.Message)
		failed := own.LaunchFailed{
			Head: own.HeadOf(l.Cluster), NodePool: claims[0].Labels[api.NodePoolLabelKey],
			Reason: step.Reason, Message: step.Message,
		}
		for i := range claims {
			failed.NodeClaims = append(failed.NodeClaims, claims[i].Name)
		}
		l.Published.Add(failed)
	}
	slog.Log(ctx, level, "failed launching nodeclaim",
		"NodeClaim", claims[0].Name, "nodeclaims", len(claims), "reason", step.Reason, "error", step.Message)
	_ = inParallel(len(claims), func(i int) error {
		claim := &claims[i]
		patch := attempt.FailureStatus(claim, step.Reason, step.Message, l.Now())
		if patch == nil {
			return nil
		}
		stored, err := l.Client.PatchNodeClaimStatus(ctx, claim.Name, patch)
		if err == nil {
			*claim = *stored
		} else if cluster.IgnoreStale(err) != nil {
			slog.WarnContext(ctx, "the status of a nodeclaim is not written", "NodeClaim", claim.Name, "error", err)
		}
		return nil
	})
}

// refuseClass writes on a class which of its conditions is not true.
func (l *Launcher) refuseClass(ctx context.Context, name string, step attempt.RefuseClass) {
	l.changeConditions(ctx, name, func(class *api.EC2NodeClass) ([]metav1.Condition, bool) {
		l.warn(disruption.AboutClass(class), step.Reason, step.Message)
		return nodeclass.Refuse(class, nodeclass.Refusal{
			Condition: step.Condition, Reason: api.ReasonLaunchRefused, Message: attempt.Cut(step.Message),
		}, l.Now())
	})
}

// clearRefusal takes back what refuseClass wrote.
func (l *Launcher) clearRefusal(ctx context.Context, name string) {
	l.changeConditions(ctx, name, func(class *api.EC2NodeClass) ([]metav1.Condition, bool) {
		return nodeclass.ClearRefusals(class, l.Now())
	})
}

// changeConditions only logs a failure, because the launch does not depend on the status.
func (l *Launcher) changeConditions(
	ctx context.Context, name string, decide func(*api.EC2NodeClass) ([]metav1.Condition, bool),
) {
	decideSurely := func(class *api.EC2NodeClass) ([]metav1.Condition, bool, error) {
		conditions, changed := decide(class)
		return conditions, changed, nil
	}
	if _, err := classes.ChangeConditions(ctx, l.Client, name, decideSurely); err != nil {
		slog.WarnContext(ctx, "the status of an ec2nodeclass is not written", "EC2NodeClass", name, "error", err)
	}
}

// warn records a warning about an object.
func (l *Launcher) warn(about corev1.ObjectReference, reason, message string) {
	l.Record(cluster.Event{
		About: about, Type: corev1.EventTypeWarning, Reason: reason, Message: attempt.Cut(message),
	})
}
