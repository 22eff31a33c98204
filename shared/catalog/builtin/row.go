package builtin

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row parses the cells of one row by column, and keeps the first error, so that parseRow can be one
// expression.
type row struct {
	cells map[string]string
	err   error
}

// fault keeps the first error, which names the row's type and the column.
func (r *row) fault(column string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("type %q, column %q: %w", r.cells["name"], column, err)
	}
}

// namePattern is a family and a size, such as m5.large or u-6tb1.112xlarge.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)

func (r *row) typeName(column string) string {
	cell := r.cells[column]
	if !namePattern.MatchString(cell) {
		r.fault(column, fmt.Errorf("%q is not an instance type's name, such as m5.large", cell))
	}
	return cell
}

// text reads a cell that must not be empty.
func (r *row) text(column string) string {
	cell := r.cells[column]
	if cell == "" {
		r.fault(column, errors.New("the cell is empty"))
	}
	return cell
}

// integer parses a whole number of at least 0. An empty cell is 0.
func (r *row) integer(column string) int {
	cell := r.cells[column]
	if cell == "" {
		return 0
	}
	n, err := wholeNumber(cell)
	if err != nil {
		r.fault(column, err)
	}
	return n
}

// positive reads a whole number of at least 1.
func (r *row) positive(column string) int {
	n, err := wholeNumber(r.cells[column])
	if err == nil && n == 0 {
		err = errors.New("0: want at least 1")
	}
	if err != nil {
		r.fault(column, err)
	}
	return n
}

// decimal reads a finite number of at least 0. An empty cell is 0: unknown.
func (r *row) decimal(column string) float64 {
	cell := r.cells[column]
	if cell == "" {
		return 0
	}
	n, err := decimalNumber(cell)
	if err != nil {
		r.fault(column, err)
	}
	return n
}

func (r *row) boolean(column string) bool {
	switch cell := r.cells[column]; cell {
	case "true":
		return true
	case "false":
		return false
	default:
		r.fault(column, fmt.Errorf("%q is neither true nor false", cell))
		return false
	}
}

func (r *row) oneOf(column string, allowed ...string) string {
	cell := r.cells[column]
	if !slices.Contains(allowed, cell) {
		r.fault(column, fmt.Errorf("%q is none of %q", cell, allowed))
	}
	return cell
}

// list reads entries between semicolons; an empty cell is no entry.
func (r *row) list(column string) []string {
	cell := r.cells[column]
	if cell == "" {
		return nil
	}
	list := strings.Split(cell, ";")
	if slices.Contains(list, "") {
		r.fault(column, fmt.Errorf("%q has an empty entry", cell))
	}
	return list
}

// someOf reads one or more entries, each of which is allowed.
func (r *row) someOf(column string, allowed ...string) []string {
	list := r.subsetOf(column, allowed...)
	if len(list) == 0 {
		r.fault(column, fmt.Errorf("the cell is empty: want some of %q", allowed))
	}
	return list
}

// subsetOf reads any number of entries, each of which is allowed.
func (r *row) subsetOf(column string, allowed ...string) []string {
	list := r.list(column)
	for _, entry := range list {
		if !slices.Contains(allowed, entry) {
			r.fault(column, fmt.Errorf("%q is none of %q", entry, allowed))
		}
	}
	return list
}

// entries reads a list whose entries have parts between colons.
func entries[T any](r *row, column string, parse func(*parts) T) []T {
	var all []T
	for _, entry := range r.list(column) {
		p := &parts{entry: entry, left: strings.Split(entry, ":")}
		value := parse(p)
		if p.err == nil && len(p.left) > 0 {
			p.err = fmt.Errorf("%d parts too many", len(p.left))
		}
		if p.err != nil {
			r.fault(column, fmt.Errorf("entry %q: %w", entry, p.err))
			return nil
		}
		all = append(all, value)
	}
	return all
}

// parts parses the parts of an entry from left to right, and keeps the first error.
type parts struct {
	entry string
	left  []string
	err   error
}

// next takes the next part; name is what errors call it.
func (p *parts) next(name string) string {
	if len(p.left) == 0 || p.left[0] == "" {
		p.fault(name, errors.New("it is missing"))
		return ""
	}
	part := p.left[0]
	p.left = p.left[1:]
	return part
}

func (p *parts) fault(name string, err error) {
	if p.err == nil {
		p.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (p *parts) integer(name string) int {
	part := p.next(name)
	if p.err != nil {
		return 0
	}
	n, err := wholeNumber(part)
	if err != nil {
		p.fault(name, err)
	}
	return n
}

func (p *parts) decimal(name string) float64 {
	part := p.next(name)
	if p.err != nil {
		return 0
	}
	n, err := decimalNumber(part)
	if err != nil {
		p.fault(name, err)
	}
	return n
}

func parseGPU(p *parts) GPU {
	return GPU{
		Manufacturer: p.next("manufacturer"), Name: p.next("name"), Count: p.integer("count"),
		MemoryMiB:    int64(p.integer("memory in MiB")),
		LogicalCount: p.integer("logical count"), PartitionSize: p.decimal("partition size"),
	}
}

func parseInferenceAccelerator(p *parts) InferenceAccelerator {
	return InferenceAccelerator{
		Manufacturer: p.next("manufacturer"), Name: p.next("name"), Count: p.integer("count"),
		MemoryMiB: int64(p.integer("memory in MiB")),
	}
}

func parseNeuronDevice(p *parts) NeuronDevice {
	return NeuronDevice{
		Name: p.next("name"), Count: p.integer("count"), MemoryMiB: int64(p.integer("memory in MiB")),
		CoresPerDevice: p.integer("cores of each device"), CoreVersion: p.integer("core version"),
	}
}

func parseDisk(p *parts) Disk {
	return Disk{Count: p.integer("count"), SizeGB: int64(p.integer("size in GB")), Type: p.next("type")}
}

func parseNetworkCard(p *parts) NetworkCard {
	return NetworkCard{
		Index: p.integer("index"), MaximumInterfaces: p.integer("maximum interfaces"),
		BaselineBandwidthGbps: p.decimal("baseline in Gbps"), PeakBandwidthGbps: p.decimal("peak in Gbps"),
	}
}

// wholeNumber parses digits. Its bound keeps sums and products of a few such numbers within an
// int64.
func wholeNumber(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number between 0 and 2147483647", text)
	}
	return int(n), nil
}

func decimalNumber(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%q is not a number of at least 0", text)
	}
	return n, nil
}
