package status_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/status"
)

// TestADayHasSamples lets two functions tell of a day and a half, every five minutes.
func TestADayHasSamples(t *testing.T) {
	s := &store{}
	for minute := 0; minute < 36*60; minute += 5 {
		at := now.Add(time.Duration(minute) * time.Minute)
		fleet := status.Fleet{Nodes: minute}
		if price := float64(minute) / 2; minute%60 != 55 {
			fleet.PricePerHour = &price
		}
		if err := status.PutFleet(t.Context(), s, fleet, at); err != nil {
			t.Fatal(err)
		}
		waited := 40 * time.Second
		if minute%15 == 0 {
			waited = time.Minute
		}
		if err := status.PutDeployment(t.Context(), s, status.Deployment{Tick: at}, waited); err != nil {
			t.Fatal(err)
		}
	}
	told, err := status.Read(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(told.Day) < 96 || len(told.Day) > 97 {
		t.Fatalf("%d samples", len(told.Day))
	}
	last := told.Day[len(told.Day)-1]
	if !last.Start.Equal(now.Add(35*time.Hour+45*time.Minute)) || *last.Nodes != 36*60-5 || *last.PendingSeconds != 60 {
		t.Errorf("the last sample is %+v: want the last nodes and the longest wait", last)
	}
	if last.PricePerHour != nil {
		t.Errorf("the price is unknown, not %v", *last.PricePerHour)
	}
	if before := told.Day[len(told.Day)-2]; *before.PricePerHour != float64(36*60-20)/2 {
		t.Errorf("the price was %v", *before.PricePerHour)
	}
	if size := len(s.object.Data["day.json"]); size > 12_000 {
		t.Errorf("%d bytes", size)
	}
}

func TestADayIsMended(t *testing.T) {
	for name, text := range map[string]string{
		"no list":           "{",
		"another order":     `[{"start":"2026-03-01T11:45:00Z"},{"start":"2026-03-01T11:30:00Z"}]`,
		"an old day":        `[{"start":"2025-03-01T11:45:00Z","nodes":3}]`,
		"the clock of 2100": `[{"start":"2100-03-01T11:45:00Z","nodes":3}]`,
	} {
		t.Run(name, func(t *testing.T) {
			s := &store{object: &corev1.ConfigMap{Data: map[string]string{"day.json": text}}}
			if err := status.PutFleet(t.Context(), s, status.Fleet{Nodes: 1}, now); err != nil {
				t.Fatal(err)
			}
			told, err := status.Read(t.Context(), s)
			if err != nil || len(told.Day) == 0 {
				t.Fatalf("%+v, %v", told, err)
			}
			for i, sample := range told.Day {
				if age := now.Sub(sample.Start); age < 0 || age > 24*time.Hour || i > 0 && !told.Day[i-1].Start.Before(sample.Start) {
					t.Errorf("sample %d is of %v", i, sample.Start)
				}
			}
		})
	}
}
