package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/history"
)

// TestFollowedEventsOutliveAFailure lists events from an API server that fails for two looks.
func TestFollowedEventsOutliveAFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	list := func(context.Context, string) ([]corev1.Event, error) {
		looks++
		var first, second corev1.Event
		first.UID, first.Reason = "1", "Launched"
		second.UID, second.Reason = "2", "Drained"
		switch looks {
		case 1:
			return []corev1.Event{first}, nil
		case 2, 3:
			return nil, errors.New("the server\nis down")
		case 4:
			return []corev1.Event{first, second}, nil
		}
		cancel()
		return nil, ctx.Err()
	}
	var out, problems strings.Builder
	err := followEvents(ctx, list, history.Selection{}, history.NewFollower(), time.NewTicker(time.Millisecond), &out,
		&problems)
	if err != nil || strings.Count(out.String(), "Launched") != 1 || strings.Count(out.String(), "Drained") != 1 {
		t.Errorf("%v\n%s", err, out.String())
	}
	if problems.String() != "whittle: the events are not read, and will be: the server is down\n" {
		t.Errorf("%q", problems.String())
	}
}

func TestEventsUsage(t *testing.T) {
	for _, arguments := range [][]string{{"pod"}, {"-since", "-1m"}, {"-follow", "-o", "json"}} {
		if _, _, err := runPlan(t, "", append([]string{"events"}, arguments...)...); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", arguments, err)
		}
	}
}
