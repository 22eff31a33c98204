package savingsplans

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Name is the service's signing name.
const Name = "savingsplans"

// largestPage is the API's largest page, and usualPage the one without a size in the request. AWS
// does not say what that is: callers follow the token.
const largestPage, usualPage = 1000, 100

// Service keeps the account's plans. It is safe for concurrent use.
type Service struct {
	account, region string
	types           []builtin.InstanceType
	now             func() time.Time

	mutex sync.Mutex
	plans []*Plan
}

// New makes the service of an account without plans. Rates are those of the region, and of another
// one.
func New(account, region string) (*Service, error) {
	types, err := builtin.All()
	if err != nil {
		return nil, fmt.Errorf("reading the table of instance types: %w", err)
	}
	return &Service{account: account, region: region, types: types, now: time.Now}, nil
}

// Buy adds a plan and returns its id.
func (s *Service) Buy(bought Plan) (string, error) {
	bought.complete(s.now())
	if (bought.Type == EC2Instance) != (bought.Family != "" && bought.Region != "") {
		return "", fmt.Errorf("a plan of type %s has the family %q and the region %q", bought.Type, bought.Family,
			bought.Region)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.plans = append(s.plans, &bought)
	return bought.ID, nil
}

// Register answers the server's calls to Savings Plans.
func (s *Service) Register(server *wire.Server) { server.Register(Name, s) }

// Describe names the action of a call, which is its path.
func (s *Service) Describe(c *wire.Call) string {
	if c.HTTP.Method != http.MethodPost {
		return ""
	}
	return strings.TrimPrefix(c.HTTP.URL.Path, "/")
}

// Serve answers one call.
func (s *Service) Serve(ctx context.Context, c *wire.Call) (*wire.Response, error) {
	return wire.Actions{
		"DescribeSavingsPlans": answer(s.describePlans), "DescribeSavingsPlanRates": answer(s.describeRates),
	}.Serve(ctx, c)
}

// answer makes a handler of a method. It refuses a request with parameters that the service does
// not hold.
func answer[In, Out any](method func(in *In) (*Out, error)) wire.HandlerFunc {
	return func(_ context.Context, c *wire.Call) (*wire.Response, error) {
		in := new(In)
		if len(c.Body) > 0 {
			decoder := json.NewDecoder(bytes.NewReader(c.Body))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(in); err != nil {
				return nil, invalid("the request is not one that the local Savings Plans take: %v", err)
			}
		}
		out, err := method(in)
		if err != nil {
			return nil, err
		}
		return wire.JSON(out)
	}
}

func invalid(format string, arguments ...any) error {
	return wire.Errorf("ValidationException", http.StatusBadRequest, format, arguments...)
}

type describePlansRequest struct {
	ARNs       []string `json:"savingsPlanArns"`
	IDs        []string `json:"savingsPlanIds"`
	NextToken  string   `json:"nextToken"`
	MaxResults *int     `json:"maxResults"`
	States     []string `json:"states"`
	Filters    []filter `json:"filters"`
}

type describePlansResponse struct {
	Plans     []planJSON `json:"savingsPlans"`
	NextToken string     `json:"nextToken,omitempty"`
}

func (s *Service) describePlans(in *describePlansRequest) (*describePlansResponse, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []planJSON
	for _, p := range s.plans {
		text := p.json(s.account)
		pass, err := passes(in.Filters, p.values())
		if err != nil {
			return nil, err
		}
		if pass && among(in.States, p.State) && among(in.IDs, p.ID) && among(in.ARNs, text.ARN) {
			found = append(found, text)
		}
	}
	page, next, err := pageOf(found, in.MaxResults, in.NextToken)
	return &describePlansResponse{page, next}, err
}

// among reports whether the value is one of those that were asked for; any is where none were.
func among(asked []string, value string) bool {
	return len(asked) == 0 || slices.Contains(asked, value)
}

type describeRatesRequest struct {
	ID         string   `json:"savingsPlanId"`
	NextToken  string   `json:"nextToken"`
	MaxResults *int     `json:"maxResults"`
	Filters    []filter `json:"filters"`
}

type describeRatesResponse struct {
	ID        string     `json:"savingsPlanId"`
	Rates     []rateJSON `json:"searchResults"`
	NextToken string     `json:"nextToken,omitempty"`
}

func (s *Service) describeRates(in *describeRatesRequest) (*describeRatesResponse, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	at := slices.IndexFunc(s.plans, func(p *Plan) bool { return p.ID == in.ID })
	if at < 0 {
		return nil, wire.Errorf("ResourceNotFoundException", http.StatusNotFound, "there is no Savings Plan %q", in.ID)
	}
	var found []rateJSON
	for _, row := range s.rates(s.plans[at]) {
		pass, err := passes(in.Filters, row.values())
		if err != nil {
			return nil, err
		}
		if pass {
			found = append(found, row)
		}
	}
	page, next, err := pageOf(found, in.MaxResults, in.NextToken)
	return &describeRatesResponse{in.ID, page, next}, err
}

// pageOf cuts a page out of the results. A token holds the offset of the page that follows.
func pageOf[T any](all []T, size *int, token string) (page []T, next string, err error) {
	most := usualPage
	if size != nil {
		if most = *size; most < 1 || most > largestPage {
			return nil, "", invalid("maxResults is %d: want 1 to %d", most, largestPage)
		}
	}
	from := 0
	if token != "" {
		text, err := base64.StdEncoding.DecodeString(token)
		if err == nil {
			from, err = strconv.Atoi(string(text))
		}
		if err != nil || from < 0 || from > len(all) {
			return nil, "", invalid("the nextToken %q is not one that this service gave", token)
		}
	}
	end := min(from+most, len(all))
	if end < len(all) {
		next = base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(end)))
	}
	return append([]T{}, all[from:end]...), next, nil
}
