package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// eventLog keeps the reasons of recorded events and refuses one reason.
type eventLog struct {
	mutex   sync.Mutex
	reasons []string
	refused string
}

func (l *eventLog) Record(_ context.Context, event cluster.Event, _ time.Time) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if event.Reason == l.refused {
		return errors.New("the API server is busy")
	}
	l.reasons = append(l.reasons, event.Reason)
	return nil
}

func TestPendingEventsAreWrittenOnceAndFailuresAreLogged(t *testing.T) {
	var output bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&output, nil)))
	log := &eventLog{refused: "Lost"}
	var pending cluster.PendingEvents
	about := corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "web"}
	pending.Add(cluster.Event{About: about, Reason: "Nominated"},
		cluster.Event{About: about, Reason: "Lost", Message: "no room"})
	pending.Add(cluster.Event{About: about, Reason: "Evicted"})

	pending.Flush(t.Context(), log, 2, time.Now())
	pending.Flush(t.Context(), log, 2, time.Now())

	slices.Sort(log.reasons)
	if !slices.Equal(log.reasons, []string{"Evicted", "Nominated"}) {
		t.Errorf("recorded %v", log.reasons)
	}
	line := output.String()
	if strings.Count(line, "\n") != 1 {
		t.Errorf("logged %q, want one line", line)
	}
	for _, part := range []string{"kind=Pod", "namespace=default", "object=web", "reason=Lost", `message="no room"`,
		`error="the API server is busy"`} {
		if !strings.Contains(line, part) {
			t.Errorf("logged %q without %s", line, part)
		}
	}
}
