package quotas

import (
	"context"
	"net/http"
	"sync"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Service is the fake. It is safe for concurrent use.
type Service struct {
	mutex  sync.Mutex
	values map[string]float64 // by service and code, such as ec2/L-1216C47A
}

// New returns a fake with the quotas for vCPUs of running standard instances, on-demand and spot, of
// an account that has grown.
func New() *Service {
	return &Service{values: map[string]float64{"ec2/L-1216C47A": 4096, "ec2/L-34B43A08": 4096}}
}

// Set sets a quota.
func (s *Service) Set(service, code string, value float64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.values[service+"/"+code] = value
}

// Register makes the server answer calls.
func (s *Service) Register(server *wire.Server) {
	server.Register("servicequotas", wire.Actions{"GetServiceQuota": s.getServiceQuota})
}

func (s *Service) getServiceQuota(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ ServiceCode, QuotaCode string }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	s.mutex.Lock()
	value, found := s.values[in.ServiceCode+"/"+in.QuotaCode]
	s.mutex.Unlock()
	if !found {
		return nil, wire.Errorf("NoSuchResourceException", http.StatusBadRequest, "no quota %s of %s is simulated",
			in.QuotaCode, in.ServiceCode)
	}
	return wire.JSON(map[string]any{"Quota": map[string]any{
		"ServiceCode": in.ServiceCode, "QuotaCode": in.QuotaCode, "Value": value, "Unit": "None", "Adjustable": true,
	}})
}
