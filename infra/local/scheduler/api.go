package scheduler

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// Register makes the server answer EventBridge Scheduler's REST API.
func (s *Service) Register(server *wire.Server) { server.Register("scheduler", restAPI{s}) }

type restAPI struct{ service *Service }

func route(method, path string) (action, name string) {
	kind, name, named := strings.Cut(strings.Trim(path, "/"), "/")
	key := method + " " + kind
	if named {
		key += "/*"
	}
	return map[string]string{
		"POST schedules/*": "CreateSchedule", "GET schedules/*": "GetSchedule", "PUT schedules/*": "UpdateSchedule",
		"DELETE schedules/*": "DeleteSchedule", "GET schedules": "ListSchedules",
		"POST schedule-groups/*": "CreateScheduleGroup", "GET schedule-groups/*": "GetScheduleGroup",
		"DELETE schedule-groups/*": "DeleteScheduleGroup", "GET schedule-groups": "ListScheduleGroups",
	}[key], name
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
	s := a.service
	query := c.HTTP.URL.Query()
	switch action {
	case "CreateSchedule", "UpdateSchedule":
		return s.servePut(c, name, action == "UpdateSchedule")
	case "GetSchedule":
		return s.get(query.Get("groupName"), name)
	case "DeleteSchedule":
		if err := s.remove(query.Get("groupName"), name); err != nil {
			return nil, asAnswer(err)
		}
	case "ListSchedules":
		return s.list(query)
	case "CreateScheduleGroup":
		if err := s.addGroup(name); err != nil {
			return nil, asAnswer(err)
		}
		return wire.JSON(map[string]string{"ScheduleGroupArn": s.groupARN(name)})
	case "GetScheduleGroup":
		s.mu.Lock()
		defer s.mu.Unlock()
		g := s.groups[name]
		if g == nil {
			return nil, wire.Errorf("ResourceNotFoundException", http.StatusNotFound, "Schedule group %s does not exist.", name)
		}
		return wire.JSON(s.describeGroup(g))
	case "DeleteScheduleGroup":
		if err := s.removeGroup(name); err != nil {
			return nil, asAnswer(err)
		}
	case "ListScheduleGroups":
		return s.listGroups()
	default:
		return nil, wire.Errorf("UnknownOperationException", http.StatusNotFound,
			"the local scheduler has no %s %s; it simulates creating, reading, updating, listing and deleting schedules and "+
				"groups", c.HTTP.Method, c.HTTP.URL.Path)
	}
	return wire.JSON(struct{}{})
}

// servePut creates or updates a schedule.
func (s *Service) servePut(c *wire.Call, name string, update bool) (*wire.Response, error) {
	var d Definition
	if err := c.DecodeJSON(&d); err != nil {
		return nil, err
	}
	d.Name = name
	sc, err := s.put(d, update)
	if err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(map[string]string{"ScheduleArn": s.arn(sc)})
}

// get answers GetSchedule.
func (s *Service) get(group, name string) (*wire.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc, err := s.find(group, name)
	if err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(s.describe(sc))
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

// described is a schedule in GetSchedule's answer.
type described struct {
	Definition
	Arn                  string
	CreationDate         wire.Time
	LastModificationDate wire.Time
}

func (s *Service) describe(sc *schedule) described {
	return described{sc.Definition, s.arn(sc), wire.Time{Time: sc.created}, wire.Time{Time: sc.modified}}
}

func (s *Service) list(query url.Values) (*wire.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	summaries := []map[string]any{}
	for _, sc := range s.schedules {
		group := query.Get("ScheduleGroup")
		if group != "" && group != sc.GroupName || !strings.HasPrefix(sc.Name, query.Get("NamePrefix")) ||
			query.Get("State") != "" && query.Get("State") != sc.State {
			continue
		}
		summaries = append(summaries, map[string]any{
			"Arn": s.arn(sc), "Name": sc.Name, "GroupName": sc.GroupName, "State": sc.State,
			"CreationDate":         wire.Time{Time: sc.created},
			"LastModificationDate": wire.Time{Time: sc.modified}, "Target": map[string]string{"Arn": sc.Target.Arn},
		})
	}
	slices.SortFunc(summaries, func(a, b map[string]any) int {
		return strings.Compare(a["Arn"].(string), b["Arn"].(string))
	})
	return wire.JSON(map[string]any{"Schedules": summaries})
}

func (s *Service) listGroups() (*wire.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := []map[string]any{}
	for _, g := range s.groups {
		groups = append(groups, s.describeGroup(g))
	}
	slices.SortFunc(groups, func(a, b map[string]any) int {
		return strings.Compare(a["Name"].(string), b["Name"].(string))
	})
	return wire.JSON(map[string]any{"ScheduleGroups": groups})
}

func (s *Service) describeGroup(g *group) map[string]any {
	return map[string]any{
		"Arn": s.groupARN(g.name), "Name": g.name, "State": "ACTIVE", "CreationDate": wire.Time{Time: g.created},
		"LastModificationDate": wire.Time{Time: g.created},
	}
}
