package main

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// refuse writes on the EC2NodeClass which of its conditions is not true after all: until
// a launch with it succeeds, or it is another, nothing new is planned with it.
func (l *launching) refuse(ctx context.Context, ref *api.NodeClassReference, failure *fleet.Failure) {
	if failure.Class == "" {
		return
	}
	l.judge(ctx, ref.Name, func(class *api.EC2NodeClass) ([]metav1.Condition, bool) {
		l.run.record(aboutClass(class), corev1.EventTypeWarning, failure.Reason, limited(failure.Error()))
		return nodeclass.Refuse(class, failure.Class, limited(failure.Error()), l.run.now())
	})
}

// absolve takes back what refuse wrote, after a launch.
func (l *launching) absolve(ctx context.Context, class *api.EC2NodeClass) {
	if _, refused := nodeclass.Absolve(class, l.run.now()); !refused {
		return
	}
	l.judge(ctx, class.Name, func(class *api.EC2NodeClass) ([]metav1.Condition, bool) { return nodeclass.Absolve(class, l.run.now()) })
}

// judge changes the conditions of a class as it is now: this pass may have written it
// since it was read. Someone else who has just written it has seen what is true as well.
func (l *launching) judge(ctx context.Context, name string, verdict func(*api.EC2NodeClass) ([]metav1.Condition, bool)) {
	r := l.run
	classes, err := r.client.NodeClasses(ctx)
	for i := range classes {
		class := &classes[i]
		if class.Name != name {
			continue
		}
		conditions, changed := verdict(class)
		if !changed {
			return
		}
		_, err = r.client.PatchNodeClassStatus(ctx, class.Name, map[string]any{
			"metadata": map[string]any{"resourceVersion": class.ResourceVersion}, "status": map[string]any{"conditions": conditions},
		})
	}
	if err != nil && !cluster.IsConflict(err) && !cluster.IsGone(err) {
		slog.WarnContext(ctx, "the status of an ec2nodeclass is not written", "EC2NodeClass", name, "error", err)
	}
}

func aboutClass(class *api.EC2NodeClass) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: api.AWSAPIVersion, Kind: api.EC2NodeClassKind, Name: class.Name, UID: class.UID}
}
