package builtin

import (
	_ "embed" // for the table
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

//go:embed supplement.csv
var supplementTable string

// Supplement holds facts about instance types that EC2's API does not give: limits, and on-demand
// prices as a fallback. It has more types than All.
type Supplement struct {
	// BranchInterfaces are, by type, the number of vpc.amazonaws.com/pod-eni that a node has; types
	// without are not in it.
	BranchInterfaces map[string]int
	// NetworkBaselineMbps are, by type, the documented bandwidth of all network cards that can be
	// held for any time.
	NetworkBaselineMbps map[string]int
	// Prices are by region: us-east-1, us-gov-east-1, us-gov-west-1 and cn-north-1.
	Prices map[string]PriceList
}

// PriceList holds the on-demand prices of one region on one date, for Linux and shared tenancy,
// including bare metal.
type PriceList struct {
	Date time.Time
	// Currency is USD, and CNY in China.
	Currency string
	// PerHour are by instance type.
	PerHour map[string]float64
}

// ReadSupplement returns the embedded supplement. Each call parses it again, in some milliseconds,
// so that the caller owns the result. The error names the row and column of a damaged table.
func ReadSupplement() (Supplement, error) {
	supplement, err := parseSupplement(strings.NewReader(supplementTable))
	if err != nil {
		return Supplement{}, fmt.Errorf("reading supplement.csv: %w", err)
	}
	return supplement, nil
}

// priceColumns begin at this column.
const priceColumns = 3

func parseSupplement(r io.Reader) (Supplement, error) {
	reader := csv.NewReader(r)
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return Supplement{}, errors.New("the table is empty: its first row must be the header")
	}
	if err != nil {
		return Supplement{}, fmt.Errorf("row 1: %w", err)
	}
	for i, want := range []string{"name", "branch_interfaces", "network_baseline_mbps"} {
		if i >= len(header) || header[i] != want {
			return Supplement{}, fmt.Errorf("row 1: column %d is not %q", i+1, want)
		}
	}
	s := Supplement{
		BranchInterfaces: map[string]int{}, NetworkBaselineMbps: map[string]int{}, Prices: map[string]PriceList{},
	}
	regions := make([]string, len(header))
	for i, column := range header[priceColumns:] {
		region, list, err := parsePriceColumn(column)
		if err != nil {
			return Supplement{}, fmt.Errorf("row 1: column %q: %w", column, err)
		}
		regions[priceColumns+i], s.Prices[region] = region, list
	}
	for {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return Supplement{}, err // csv says line and column itself
		}
		line, _ := reader.FieldPos(0)
		if err := s.add(header, regions, cells); err != nil {
			return Supplement{}, fmt.Errorf("row %d: %w", line, err)
		}
	}
}

// add adds a row of the table. Regions are those of the columns of prices.
func (s *Supplement) add(header, regions, cells []string) error {
	row := &row{cells: make(map[string]string, len(header))}
	for i, column := range header {
		row.cells[column] = cells[i]
	}
	name := row.typeName("name")
	if n := row.integer("branch_interfaces"); n > 0 {
		s.BranchInterfaces[name] = n
	}
	if n := row.integer("network_baseline_mbps"); n > 0 {
		s.NetworkBaselineMbps[name] = n
	}
	for i, column := range header[priceColumns:] {
		if price := row.decimal(column); price > 0 {
			s.Prices[regions[priceColumns+i]].PerHour[name] = price
		}
	}
	return row.err
}

// parsePriceColumn reads a header such as "us-east-1 USD 2026-07-06".
func parsePriceColumn(column string) (region string, list PriceList, err error) {
	parts := strings.Fields(column)
	if len(parts) != 3 {
		return "", PriceList{}, errors.New(`it is not of the form "region currency date"`)
	}
	date, err := time.Parse(time.DateOnly, parts[2])
	if err != nil {
		return "", PriceList{}, fmt.Errorf("%q is not a date, such as 2026-07-06", parts[2])
	}
	return parts[0], PriceList{Date: date, Currency: parts[1], PerHour: map[string]float64{}}, nil
}
