package cloudwatch

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

type dashboardType struct{ service *Service }

// put checks that a dashboard's body is JSON with widgets, as CloudWatch does.
func (t dashboardType) put(r cloudformation.Request, name string) (cloudformation.Result, error) {
	var p struct {
		DashboardName, DashboardBody string
		Tags                         []struct{ Key, Value string } // nothing asks for them
	}
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return cloudformation.Result{}, err
	}
	if p.DashboardName != "" {
		name = p.DashboardName
	}
	var body struct {
		Widgets []struct {
			Type                string
			X, Y, Width, Height int
			Properties          map[string]any
		}
	}
	if err := json.Unmarshal([]byte(p.DashboardBody), &body); err != nil || len(body.Widgets) == 0 {
		return cloudformation.Result{}, fmt.Errorf("dashboard %s: DashboardBody is not JSON with widgets: %w", name, err)
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	t.service.dashboards[name] = p.DashboardBody
	return cloudformation.Result{PhysicalID: name}, nil
}

// Create makes the dashboard.
func (t dashboardType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return t.put(r, r.GeneratedName)
}

// Update changes the dashboard; another name makes another.
func (t dashboardType) Update(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return t.put(r, r.PhysicalID)
}

// Delete removes the dashboard.
func (t dashboardType) Delete(_ context.Context, r cloudformation.Request) error {
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	delete(t.service.dashboards, r.PhysicalID)
	return nil
}
