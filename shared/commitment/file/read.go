package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/commitment"
)

// Commitments are those of a file.
type Commitments struct {
	// Region is the region of the plans' rates; empty without any.
	Region   string                        `json:"region,omitempty"`
	Reserved []commitment.ReservedInstance `json:"reserved,omitempty"`
	Plans    []commitment.SavingsPlan      `json:"plans,omitempty"`
}

const (
	// mostBytes bounds the file: rates of one plan in one region take about 1 MB.
	mostBytes = 64 << 20
	// mostAnswers bounds the answers in it.
	mostAnswers = 1000
)

// answer is any of the answers, with its entries as they are.
type answer struct {
	// Of DescribeReservedInstances and DescribeSavingsPlans.
	ReservedInstances []json.RawMessage `json:"ReservedInstances"`
	SavingsPlans      []json.RawMessage `json:"savingsPlans"`
	// Of DescribeSavingsPlanRates.
	SavingsPlanID string            `json:"savingsPlanId"`
	SearchResults []json.RawMessage `json:"searchResults"`
	NextToken     string            `json:"nextToken"`
}

// Read reads the answers: JSON objects one after the other, or documents of YAML.
func Read(content []byte) (*Commitments, error) {
	if len(content) > mostBytes {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read", len(content), mostBytes)
	}
	documents, err := split(content)
	if err != nil {
		return nil, err
	}
	r := &reader{rates: map[string]map[string]float64{}, regions: map[string]bool{}}
	for n, document := range documents {
		if err := r.read(document); err != nil {
			return nil, fmt.Errorf("answer %d of %d: %w", n+1, len(documents), err)
		}
	}
	return r.commitments()
}

// split returns the file's answers as JSON.
func split(content []byte) ([][]byte, error) {
	var documents [][]byte
	if first := bytes.TrimSpace(content); len(first) > 0 && first[0] == '{' {
		decoder := json.NewDecoder(bytes.NewReader(content))
		for {
			var document json.RawMessage
			if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
				return documents, nil
			} else if err != nil {
				return nil, fmt.Errorf("answer %d is no JSON: %w", len(documents)+1, err)
			}
			if documents = append(documents, document); len(documents) > mostAnswers {
				return nil, fmt.Errorf("it has more than %d answers", mostAnswers)
			}
		}
	}
	for part := range strings.SplitSeq("\n"+string(content), "\n---") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		document, err := yaml.YAMLToJSONStrict([]byte(part))
		if err != nil {
			return nil, fmt.Errorf("answer %d is no YAML: %w", len(documents)+1, err)
		}
		if documents = append(documents, document); len(documents) > mostAnswers {
			return nil, fmt.Errorf("it has more than %d answers", mostAnswers)
		}
	}
	return documents, nil
}

// reader collects what the answers have.
type reader struct {
	found Commitments
	// rates are those of each plan by instance type, and regions where they hold.
	rates   map[string]map[string]float64
	regions map[string]bool
	// regionOf is the region of an EC2 Instance Savings Plan, by its id.
	regionOf map[string]string
}

func (r *reader) read(document []byte) error {
	var read answer
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		return fmt.Errorf("%w: it has to be the answer of aws ec2 describe-reserved-instances, aws savingsplans "+
			"describe-savings-plans or aws savingsplans describe-savings-plan-rates", explain(err))
	}
	if read.NextToken != "" {
		return errors.New("nextToken is set, so that the answer is not whole: ask for all pages")
	}
	if len(read.SearchResults) > 0 && read.SavingsPlanID == "" {
		return errors.New("savingsPlanId is missing beside searchResults")
	}
	for i, raw := range read.ReservedInstances {
		if err := r.reserved(raw); err != nil {
			return fmt.Errorf("ReservedInstances[%d].%w", i, err)
		}
	}
	for i, raw := range read.SavingsPlans {
		if err := r.plan(raw); err != nil {
			return fmt.Errorf("savingsPlans[%d].%w", i, err)
		}
	}
	for i, raw := range read.SearchResults {
		if err := r.rate(read.SavingsPlanID, raw); err != nil {
			return fmt.Errorf("searchResults[%d].%w", i, err)
		}
	}
	return nil
}

// explain names the field of a value of another type.
func explain(err error) error {
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) && typed.Field != "" {
		return fmt.Errorf("%s: %s is no %s", typed.Field, typed.Value, typed.Type)
	}
	return err
}

// commitments are all of them, with their rates.
func (r *reader) commitments() (*Commitments, error) {
	found := &r.found
	regions := slices.Sorted(maps.Keys(r.regions))
	if len(regions) > 1 {
		return nil, fmt.Errorf("searchResults have rates of %s: ask for those of one region with --filters "+
			"name=region,values=REGION", strings.Join(regions, " and "))
	}
	if len(regions) == 1 {
		found.Region = regions[0]
	}
	var plans []commitment.SavingsPlan
	for _, plan := range found.Plans {
		if where := r.regionOf[plan.ID]; where != "" && found.Region != "" && where != found.Region {
			continue // it pays for no instance here
		}
		if plan.Rates = r.rates[plan.ID]; len(plan.Rates) == 0 {
			return nil, fmt.Errorf("savingsPlans: %s has no rates: add the answer of aws savingsplans "+
				"describe-savings-plan-rates --savings-plan-id %s", plan.ID, plan.ID)
		}
		plans = append(plans, plan)
	}
	found.Plans = plans
	slices.SortFunc(found.Plans, func(a, b commitment.SavingsPlan) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(found.Reserved, func(a, b commitment.ReservedInstance) int { return strings.Compare(a.ID, b.ID) })
	if len(found.Plans)+len(found.Reserved) == 0 {
		return nil, errors.New("it has no active Reserved Instance and no Savings Plan that pays for instances")
	}
	return found, nil
}

// field is a value that every entry has to have.
func field(name, value string) error {
	if value == "" {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}

// when reads a time.
func when(name, value string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %q is no time such as 2027-01-31T00:00:00Z", name, value)
	}
	return at.UTC(), nil
}

// counts reports whether a purchase of the state holds, or is going to.
func counts(state string) bool { return state == "" || state == "active" || state == "queued" }
