package world

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/clock"
	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
	"github.com/whittle-dev/whittle/testdata/lab/lambda"
)

// makeClocks creates a clock for each function, if the programs were built with one.
func (w *World) makeClocks() (func(function string) lambda.Clock, error) {
	if w.options.Functions == "" {
		return nil, nil
	}
	names, err := os.ReadDir(w.options.Functions)
	if err != nil {
		return nil, err
	}
	w.clocks = map[string]*clock.Clock{}
	for _, entry := range names {
		made, err := clock.Create(filepath.Join(w.options.Directory, "clock-"+entry.Name()))
		if err != nil {
			return nil, err
		}
		w.closers = append(w.closers, made.Close)
		w.clocks[entry.Name()] = made
	}
	return func(function string) lambda.Clock {
		return w.clocks[strings.TrimPrefix(function, "whittle-"+w.options.Cluster+"-")]
	}, nil
}

// SetClock sets the lead of a function's clock over the machine's.
func (w *World) SetClock(function string, ahead time.Duration) error {
	known := w.clocks[function]
	if known == nil {
		return fmt.Errorf("function %q has no clock that can be set", function)
	}
	return known.Set(ahead)
}

// KillFunction kills a process of a function that is at work, and reports whether there was one.
func (w *World) KillFunction(function string) bool {
	return w.Lambda.Kill("whittle-" + w.options.Cluster + "-" + function)
}

// InvokeFunction invokes a function with an event, as Lambda does for a caller that does not wait.
func (w *World) InvokeFunction(ctx context.Context, function string, payload []byte) error {
	return w.Lambda.InvokeAsync(ctx, "whittle-"+w.options.Cluster+"-"+function, payload)
}

// DisturbQueue makes a queue of the cluster deliver every nth message twice and every mth message
// late; 0 for none.
func (w *World) DisturbQueue(queue string, n, m int, by time.Duration) error {
	return errors.Join(w.queues.DuplicateEvery(w.queue(queue), n), w.queues.DelayEvery(w.queue(queue), m, by))
}

// RestartControlPlane ends the control plane's process and starts another at the same address with
// the stored state.
func (w *World) RestartControlPlane(ctx context.Context) error {
	at, err := url.Parse(w.ControlPlane.Endpoint)
	if err != nil {
		return err
	}
	options := w.plane
	if options.Port, err = strconv.Atoi(at.Port()); err != nil {
		return err
	}
	if err := w.ControlPlane.Stop(); err != nil {
		return err
	}
	started, err := kubernetes.Start(ctx, options)
	if err != nil {
		return err
	}
	w.ControlPlane = started
	return nil
}
