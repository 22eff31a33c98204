package arc

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Name is the service's signing name.
const Name = "arc-zonal-shift"

// longest is the longest time that a shift may be set to last.
const longest = 72 * time.Hour

// Service keeps the zonal shifts of enrolled resources. It is safe for concurrent use.
type Service struct {
	zones []string // ids
	now   func() time.Time

	mutex     sync.Mutex
	resources map[string]bool // enrolled, by ARN
	shifts    []*shift
}

// shift is a customer's zonal shift.
type shift struct {
	id, resource, zone, comment string
	start, expiry               time.Time
	cancelled                   bool
}

// New makes a service for the zones with the ids, without resources.
func New(zones ...string) *Service {
	return &Service{zones: zones, now: time.Now, resources: map[string]bool{}}
}

// Register answers the server's calls to ARC.
func (s *Service) Register(server *wire.Server) { server.Register(Name, s) }

// Enrol makes a resource known, as EKS does for a cluster with zonal shift on.
func (s *Service) Enrol(arn string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.resources[arn] = true
}

// Describe names the action of a call.
func (s *Service) Describe(c *wire.Call) string {
	action, _ := route(c)
	return action
}

// route returns the action of a call and the last part of its path.
func route(c *wire.Call) (action, id string) {
	path := strings.Trim(c.HTTP.URL.EscapedPath(), "/")
	first, rest, _ := strings.Cut(path, "/")
	id, err := url.PathUnescape(rest)
	if err != nil {
		return "", ""
	}
	return map[string]string{
		"GET managedresources": "GetManagedResource", "POST zonalshifts": "StartZonalShift",
		"DELETE zonalshifts": "CancelZonalShift", "GET zonalshifts": "ListZonalShifts",
	}[c.HTTP.Method+" "+first], id
}

// Serve answers one call.
func (s *Service) Serve(_ context.Context, c *wire.Call) (*wire.Response, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var out any
	var err error
	switch action, id := route(c); action {
	case "GetManagedResource":
		out, err = s.managedResource(id)
	case "StartZonalShift":
		out, err = s.start(c)
	case "CancelZonalShift":
		out, err = s.cancel(id)
	case "ListZonalShifts":
		out = map[string]any{"items": s.list("")}
	default:
		err = wire.Errorf("ValidationException", http.StatusBadRequest, "the local ARC does not hold %s %s", c.HTTP.Method,
			c.HTTP.URL.Path)
	}
	if err != nil {
		return nil, err
	}
	return wire.JSON(out)
}

func (s *Service) managedResource(arn string) (any, error) {
	if err := s.known(arn); err != nil {
		return nil, err
	}
	shifts, weights := s.list(arn), map[string]float64{}
	for _, zone := range s.zones {
		weights[zone] = 1
	}
	for _, one := range shifts {
		weights[one["awayFrom"].(string)] = 0
	}
	return map[string]any{
		"arn": arn, "appliedWeights": weights, "zonalShifts": shifts, "autoshifts": []any{},
		"zonalAutoshiftStatus": "DISABLED",
	}, nil
}

func (s *Service) known(arn string) error {
	if !s.resources[arn] {
		return wire.Errorf("ResourceNotFoundException", http.StatusNotFound,
			"the resource %s is not enrolled in zonal shift", arn)
	}
	return nil
}

// active returns the shifts in effect, of one resource unless its ARN is empty.
func (s *Service) active(arn string) []*shift {
	var found []*shift
	for _, one := range s.shifts {
		if !one.cancelled && s.now().Before(one.expiry) && (arn == "" || one.resource == arn) {
			found = append(found, one)
		}
	}
	return found
}

func (s *Service) list(arn string) []map[string]any {
	shifts := []map[string]any{}
	for _, one := range s.active(arn) {
		shifts = append(shifts, map[string]any{
			"appliedStatus": "APPLIED", "awayFrom": one.zone, "comment": one.comment, "expiryTime": seconds(one.expiry),
			"resourceIdentifier": one.resource, "startTime": seconds(one.start), "zonalShiftId": one.id,
			"shiftType": "ZONAL_SHIFT", "status": "ACTIVE",
		})
	}
	return shifts
}

func (s *Service) start(c *wire.Call) (any, error) {
	var in struct {
		AwayFrom, Comment, ExpiresIn, ResourceIdentifier string
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	lasts, err := time.ParseDuration(in.ExpiresIn)
	if err != nil || lasts <= 0 || lasts > longest {
		return nil, wire.Errorf("ValidationException", http.StatusBadRequest,
			"expiresIn %q is no time such as 20m or 3h, up to 72h", in.ExpiresIn)
	}
	begun, err := s.begin(in.ResourceIdentifier, in.AwayFrom, in.Comment, lasts)
	if err != nil {
		return nil, err
	}
	return begun.answer("ACTIVE"), nil
}

// Start shifts an enrolled resource away from the zone with the id, and returns the shift's id.
func (s *Service) Start(arn, zone string, lasts time.Duration) (id string, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	begun, err := s.begin(arn, zone, "by the local world", lasts)
	if err != nil {
		return "", err
	}
	return begun.id, nil
}

// Cancel ends a shift.
func (s *Service) Cancel(id string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, err := s.cancel(id)
	return err
}

func (s *Service) begin(arn, zone, comment string, lasts time.Duration) (*shift, error) {
	if err := s.known(arn); err != nil {
		return nil, err
	}
	inRegion := false
	for _, known := range s.zones {
		inRegion = inRegion || known == zone
	}
	if !inRegion {
		return nil, wire.Errorf("ValidationException", http.StatusBadRequest, "awayFrom %q is none of the zones %v",
			zone, s.zones)
	}
	if len(s.active(arn)) > 0 {
		return nil, wire.Errorf("ConflictException", http.StatusConflict, "the resource %s has a zonal shift already", arn)
	}
	now := s.now()
	made := &shift{
		id: wire.NewID(), resource: arn, zone: zone, comment: comment, start: now, expiry: now.Add(lasts),
	}
	s.shifts = append(s.shifts, made)
	return made, nil
}

func (s *Service) cancel(id string) (any, error) {
	for _, one := range s.active("") {
		if one.id == id {
			one.cancelled = true
			return one.answer("CANCELED"), nil
		}
	}
	return nil, wire.Errorf("ResourceNotFoundException", http.StatusNotFound, "there is no active zonal shift %q", id)
}

func (z *shift) answer(status string) map[string]any {
	return map[string]any{
		"awayFrom": z.zone, "comment": z.comment, "expiryTime": seconds(z.expiry), "resourceIdentifier": z.resource,
		"startTime": seconds(z.start), "status": status, "zonalShiftId": z.id,
	}
}

// seconds is a time as the API writes it.
func seconds(t time.Time) json.Number {
	text, _ := json.Marshal(float64(t.UnixMilli()) / 1000)
	return json.Number(text)
}
