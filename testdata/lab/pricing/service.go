package pricing

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const serviceCode = "AmazonEC2"

// Service answers GetProducts.
type Service struct {
	products []product
}

// localFactor is the price in a Local Zone, of that in the region.
const localFactor = 1.2

// New makes the price list of a region, and of groups of Local Zones, as us-east-1-dfw-1. types nil means all
// of the table of package builtin.
func New(region string, types []builtin.InstanceType, localGroups ...string) (*Service, error) {
	if types == nil {
		var err error
		if types, err = builtin.All(); err != nil {
			return nil, fmt.Errorf("reading the table of instance types: %w", err)
		}
	}
	s := &Service{}
	places := []location{{region, "AWS Region", 1}}
	for _, group := range localGroups {
		places = append(places, location{group, "AWS Local Zone", localFactor})
	}
	for _, place := range places {
		for i := range types {
			of, err := productsOf(&types[i], place)
			if err != nil {
				return nil, fmt.Errorf("price list item of %s: %w", types[i].Name, err)
			}
			s.products = append(s.products, of...)
		}
	}
	for _, usage := range volumeUsages() {
		of, err := newVolumeProduct(usage, region)
		if err != nil {
			return nil, fmt.Errorf("price list item of %s: %w", usage.usage, err)
		}
		s.products = append(s.products, of)
	}
	return s, nil
}

// Register answers the server's calls to the Price List API.
func (s *Service) Register(server *wire.Server) { server.Register("pricing", s) }

// Serve answers one call.
func (s *Service) Serve(_ context.Context, c *wire.Call) (*wire.Response, error) {
	if c.Action != "GetProducts" {
		return nil, wire.UnknownAction(c, []string{"GetProducts"})
	}
	in := &getProductsRequest{}
	if err := c.DecodeJSON(in); err != nil {
		return nil, err
	}
	out, err := s.getProducts(in)
	if err != nil {
		return nil, err
	}
	return wire.JSON(out)
}

type getProductsRequest struct {
	ServiceCode   string
	Filters       []filter
	FormatVersion string
	NextToken     string
	MaxResults    *int
}

type filter struct{ Type, Field, Value string }

type getProductsResult struct {
	FormatVersion string
	PriceList     []string
	NextToken     string `json:",omitempty"`
}

// maxResults is the API's largest page and its default.
const maxResults = 100

func invalidParameter(format string, args ...any) error {
	return wire.Errorf("InvalidParameterException", http.StatusBadRequest, format, args...)
}

func (s *Service) getProducts(in *getProductsRequest) (*getProductsResult, error) {
	if in.ServiceCode != serviceCode {
		return nil, wire.Errorf("NotFoundException", http.StatusBadRequest, "The local price list has %s alone, not %q",
			serviceCode, in.ServiceCode)
	}
	if in.FormatVersion != "" && in.FormatVersion != "aws_v1" {
		return nil, invalidParameter("FormatVersion %q is unknown: want aws_v1", in.FormatVersion)
	}
	size := maxResults
	if in.MaxResults != nil {
		if size = *in.MaxResults; size < 1 || size > maxResults {
			return nil, invalidParameter("MaxResults is %d: want 1 to %d", size, maxResults)
		}
	}
	kept, err := s.matching(in.Filters)
	if err != nil {
		return nil, err
	}
	from := 0
	if in.NextToken != "" {
		text, err := base64.StdEncoding.DecodeString(in.NextToken)
		if err == nil {
			from, err = strconv.Atoi(string(text))
		}
		if err != nil || from < 0 || from > len(kept) {
			return nil, wire.Errorf("InvalidNextTokenException", http.StatusBadRequest,
				"The pagination token %q is invalid for these filters", in.NextToken)
		}
	}
	out := &getProductsResult{FormatVersion: "aws_v1", PriceList: []string{}}
	end := min(from+size, len(kept))
	for _, p := range kept[from:end] {
		out.PriceList = append(out.PriceList, p.text)
	}
	if end < len(kept) {
		out.NextToken = base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(end)))
	}
	return out, nil
}

// matching returns the products that pass every filter. Values are compared without regard to case,
// as the service does.
func (s *Service) matching(filters []filter) ([]product, error) {
	for _, f := range filters {
		if f.Type != "TERM_MATCH" && f.Type != "EQUALS" {
			return nil, invalidParameter("The local price list holds filters of the types TERM_MATCH and EQUALS, not %q", f.Type)
		}
		if len(s.products) > 0 {
			if _, ok := s.products[0].attributes[strings.ToLower(f.Field)]; !ok {
				return nil, invalidParameter("The local price list has no attribute %q to filter by", f.Field)
			}
		}
	}
	var kept []product
products:
	for _, p := range s.products {
		for _, f := range filters {
			if !strings.EqualFold(p.attributes[strings.ToLower(f.Field)], f.Value) {
				continue products
			}
		}
		kept = append(kept, p)
	}
	return kept, nil
}
