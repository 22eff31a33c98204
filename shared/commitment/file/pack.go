package file

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/commitment"
)

const (
	// MostPacked bounds the packed text. All settings of a function have 4096 bytes together.
	// https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
	MostPacked = 3000
	// mostUnpacked bounds what a packed text may grow to.
	mostUnpacked = 1 << 20
	// sameRate is how far a size's rate may be from that of its family.
	sameRate = 1e-3
)

// packed is what is carried: purchases that differ in nothing but their names are one, and a family whose
// sizes cost as much as their normalization factors say has one rate.
type packed struct {
	Region   string     `json:"r,omitempty"`
	Reserved []purchase `json:"i,omitempty"`
	Plans    []plan     `json:"p,omitempty"`
	// Tables are rates, by instance types, and of a unit by families.
	Tables []map[string]float64 `json:"t,omitempty"`
}

type purchase struct {
	ID        string  `json:"n"`
	Type      string  `json:"t"`
	Count     int     `json:"c"`
	Zone      string  `json:"z,omitempty"`
	Platform  string  `json:"p,omitempty"`
	Dedicated bool    `json:"d,omitempty"`
	Start     int64   `json:"s"`
	End       int64   `json:"e"`
	PerHour   float64 `json:"h,omitempty"`
}

type plan struct {
	ID      string  `json:"n"`
	Family  string  `json:"f,omitempty"`
	PerHour float64 `json:"h"`
	Start   int64   `json:"s"`
	End     int64   `json:"e"`
	Table   int     `json:"t"`
}

// Pack writes the commitments as a text for Unpack, or says that they are too many.
func Pack(c *Commitments) (string, error) {
	made := packed{Region: c.Region}
	for i := range c.Reserved {
		made.add(&c.Reserved[i])
	}
	for i := range c.Plans {
		p := &c.Plans[i]
		rates := compress(p.Rates, p.Family)
		table := slices.IndexFunc(made.Tables, func(t map[string]float64) bool { return reflect.DeepEqual(t, rates) })
		if table < 0 {
			table = len(made.Tables)
			made.Tables = append(made.Tables, rates)
		}
		made.Plans = append(made.Plans, plan{p.ID, p.Family, p.PerHour, p.Start.Unix(), p.End.Unix(), table})
	}
	encoded, err := json.Marshal(made)
	if err != nil {
		return "", err
	}
	var buffer bytes.Buffer
	writer, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := writer.Write(encoded); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	text := base64.StdEncoding.EncodeToString(buffer.Bytes())
	if len(text) > MostPacked {
		return "", fmt.Errorf("its %d Reserved Instances and %d Savings Plans with %d tables of rates take %d bytes, and a "+
			"function's settings have room for %d: leave out those that matter least", len(made.Reserved), len(made.Plans),
			len(made.Tables), len(text), MostPacked)
	}
	return text, nil
}

// add adds a purchase, to an equal one if there is any.
func (p *packed) add(of *commitment.ReservedInstance) {
	made := purchase{
		of.ID, of.InstanceType, of.Count, of.Zone, of.Platform, of.Dedicated, of.Start.Unix(), of.End.Unix(), of.PerHour,
	}
	for i := range p.Reserved {
		same := &p.Reserved[i]
		but := made // for its name, its number and its price
		if but.ID, but.Count, but.PerHour = same.ID, same.Count, same.PerHour; but == *same {
			same.Count += made.Count
			same.PerHour += made.PerHour
			return
		}
	}
	p.Reserved = append(p.Reserved, made)
}

// compress has one rate of a unit for each family whose sizes follow their factors, and the others' own.
func compress(rates map[string]float64, only string) map[string]float64 {
	families := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(rates)) {
		if family, _, _ := strings.Cut(name, "."); only == "" || family == only {
			families[family] = append(families[family], name)
		}
	}
	small := map[string]float64{}
	for family, names := range families {
		unit := 0.0
		for _, name := range names {
			if units := commitment.UnitsOf(name); units > 0 {
				unit = max(unit, rates[name]/float64(units))
			}
		}
		unit = rounded(unit)
		if unit > 0 {
			small[family] = unit
		}
		for _, name := range names {
			by := unit * float64(commitment.UnitsOf(name))
			if math.Abs(by-rates[name]) > sameRate*rates[name] {
				small[name] = rates[name]
			}
		}
	}
	return small
}

// rounded has six digits.
func rounded(value float64) float64 {
	if value <= 0 {
		return 0
	}
	scale := math.Pow(10, 6-math.Ceil(math.Log10(value)))
	return math.Round(value*scale) / scale
}

// Unpack reads what Pack wrote.
func Unpack(text string) (*Packed, error) {
	compressed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	made := &Packed{}
	if err := json.NewDecoder(io.LimitReader(reader, mostUnpacked)).Decode(&made.packed); err != nil {
		return nil, err
	}
	for i := range made.packed.Plans {
		if table := made.packed.Plans[i].Table; table < 0 || table >= len(made.packed.Tables) {
			return nil, fmt.Errorf("plan %q has no rates", made.packed.Plans[i].ID)
		}
	}
	return made, nil
}

// Packed are commitments that were carried.
type Packed struct{ packed packed }

// Region is the region of the plans' rates; empty without plans.
func (p *Packed) Region() string { return p.packed.Region }

// Facts are the commitments with the plans' rates of the region's instance types, as they were read at a
// time. A plan has a rate for each size of its families. Plans of another region are left out.
func (p *Packed) Facts(region string, types []string, now time.Time) commitment.Facts {
	facts := commitment.Facts{Time: now.UTC()}
	for _, one := range p.packed.Reserved {
		facts.Reserved = append(facts.Reserved, commitment.ReservedInstance{
			ID: one.ID, InstanceType: one.Type, Count: one.Count, Zone: one.Zone, Platform: one.Platform,
			Dedicated: one.Dedicated, Start: time.Unix(one.Start, 0).UTC(), End: time.Unix(one.End, 0).UTC(),
			PerHour: one.PerHour,
		})
	}
	if p.packed.Region != region {
		return facts
	}
	for _, one := range p.packed.Plans {
		rates := map[string]float64{}
		for _, name := range types {
			family, _, _ := strings.Cut(name, ".")
			table := p.packed.Tables[one.Table]
			if rate, has := table[name]; has {
				rates[name] = rate
			} else if rate := table[family] * float64(commitment.UnitsOf(name)); rate > 0 {
				rates[name] = rate
			}
		}
		facts.Plans = append(facts.Plans, commitment.SavingsPlan{
			ID: one.ID, Family: one.Family, PerHour: one.PerHour, Start: time.Unix(one.Start, 0).UTC(),
			End: time.Unix(one.End, 0).UTC(), Rates: rates,
		})
	}
	return facts
}
