package scheduler

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Register makes the server answer EventBridge Scheduler's REST API.
func (s *Service) Register(server *wire.Server) { server.Register("scheduler", restAPI{s}) }

type restAPI struct{ service *Service }

func route(method, path string) (action, name string) {
	name, named := strings.CutPrefix(path, "/schedules/")
	switch {
	case named && method == http.MethodPost:
		return "CreateSchedule", name
	case named && method == http.MethodDelete:
		return "DeleteSchedule", name
	default:
		return "", ""
	}
}

// Describe names the action, so that rights can be checked and calls recorded by it.
func (a restAPI) Describe(c *wire.Call) string {
	action, _ := route(c.HTTP.Method, c.HTTP.URL.Path)
	return action
}

// Serve answers one call.
func (a restAPI) Serve(_ context.Context, c *wire.Call) (*wire.Response, error) {
	action, name := route(c.HTTP.Method, c.HTTP.URL.EscapedPath())
	name, err := url.PathUnescape(name)
	if err != nil {
		return nil, wire.Errorf("ValidationException", http.StatusBadRequest, "%q is not a name: %v", name, err)
	}
	switch action {
	case "CreateSchedule":
		return a.service.servePut(c, name)
	case "DeleteSchedule":
		if err := a.service.remove(name); err != nil {
			return nil, asAnswer(err)
		}
		return wire.JSON(struct{}{})
	default:
		return nil, wire.Errorf("UnknownOperationException", http.StatusNotFound,
			"the local scheduler has no %s %s; it simulates creating and deleting schedules", c.HTTP.Method,
			c.HTTP.URL.Path)
	}
}

func (s *Service) servePut(c *wire.Call, name string) (*wire.Response, error) {
	properties := map[string]any{}
	if err := c.DecodeJSON(&properties); err != nil {
		return nil, err
	}
	delete(properties, "ClientToken")
	d, period, err := read(properties, name)
	if err == nil {
		err = s.put(d, period, false)
	}
	if err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(map[string]string{"ScheduleArn": s.arn(d.Name)})
}

func asAnswer(err error) error {
	switch {
	case errors.Is(err, errNotFound):
		return wire.Errorf("ResourceNotFoundException", http.StatusNotFound, "%v", err)
	case errors.Is(err, errConflict):
		return wire.Errorf("ConflictException", http.StatusConflict, "%v", err)
	default:
		return wire.Errorf("ValidationException", http.StatusBadRequest, "%v", err)
	}
}
