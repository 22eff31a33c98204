package logs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// maximumQueries is how many queries are remembered; the oldest give way.
const maximumQueries = 100

// looksUntilComplete is how often somebody has to look at a query until it is complete. CloudWatch Logs
// answers Scheduled and Running for a second or more.
const looksUntilComplete = 2

// query is a query of Logs Insights, computed when it was started.
type query struct {
	rows          [][]field
	matched, read int
	bytes         int
	looks         int
}

// field is a name with its value in a row.
type field struct {
	Field string `json:"field"`
	Value string `json:"value"`
}

// record is an event with the fields of its JSON text.
type record struct {
	at     time.Time
	values map[string]string
}

// stage is a command of the language, which turns records into others.
type stage func([]record) []record

// malformed is CloudWatch Logs' error about the text of a query.
func malformed(format string, arguments ...any) error {
	return wire.Errorf("MalformedQueryException", http.StatusBadRequest, format, arguments...)
}

// startQuery computes a query over the log groups. The result is kept until somebody asks for it.
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_StartQuery.html
func (s *Service) startQuery(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		LogGroupName       string
		LogGroupNames      []string
		QueryString        string
		StartTime, EndTime int64 // seconds
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	groups := in.LogGroupNames
	if in.LogGroupName != "" {
		groups = append(groups, in.LogGroupName)
	}
	if len(groups) == 0 || in.EndTime < in.StartTime {
		return nil, wire.Errorf("InvalidParameterException", http.StatusBadRequest,
			"a query needs log groups, and an end that is not before its start")
	}
	stages, wanted, err := parseQuery(in.QueryString)
	if err != nil {
		return nil, err
	}
	made := &query{}
	var records []record
	for _, group := range groups {
		if !s.has(group) {
			return nil, wire.Errorf("ResourceNotFoundException", http.StatusBadRequest, "log group %q does not exist", group)
		}
		for _, event := range s.Events(group) {
			if at := event.Time.Unix(); at >= in.StartTime && at <= in.EndTime {
				records = append(records, recordOf(event))
				made.bytes += len(event.Message)
			}
		}
	}
	made.read = len(records)
	slices.SortStableFunc(records, func(a, b record) int { return b.at.Compare(a.at) }) // the newest first
	for _, apply := range stages {
		records = apply(records)
	}
	made.matched = len(records)
	for _, r := range records {
		made.rows = append(made.rows, rowOf(r, wanted))
	}
	return wire.JSON(map[string]any{"queryId": s.keep(made)})
}

func recordOf(event Event) record {
	r := record{at: event.Time, values: map[string]string{
		"@timestamp": stamp(event.Time), "@message": event.Message, "@logStream": event.Stream,
	}}
	var decoded map[string]any
	if json.Unmarshal([]byte(event.Message), &decoded) != nil {
		return r
	}
	for name, value := range decoded {
		switch value := value.(type) {
		case nil:
		case string:
			r.values[name] = value
		default:
			text, _ := json.Marshal(value)
			r.values[name] = string(text)
		}
	}
	return r
}

// stamp writes a time as Logs Insights does.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.000") }

// rowOf has the wanted fields. A field without a value is missing in the row.
func rowOf(r record, wanted []string) []field {
	row := []field{}
	for _, name := range wanted {
		if value, has := r.values[name]; has {
			row = append(row, field{name, value})
		}
	}
	return row
}

// keep remembers a query and returns its id.
func (s *Service) keep(made *query) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines++
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", s.lines)
	if s.queries == nil {
		s.queries = map[string]*query{}
	}
	s.queries[id] = made
	s.asked = append(s.asked, id)
	if len(s.asked) > maximumQueries {
		delete(s.queries, s.asked[0])
		s.asked = s.asked[1:]
	}
	return id
}

// getQueryResults answers Scheduled and Running before the result.
func (s *Service) getQueryResults(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ QueryID string }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.queries[in.QueryID]
	if found == nil {
		return nil, wire.Errorf("ResourceNotFoundException", http.StatusBadRequest, "there is no query %q", in.QueryID)
	}
	found.looks++
	if found.looks <= looksUntilComplete {
		return wire.JSON(map[string]any{
			"status": []string{"Scheduled", "Running"}[found.looks-1], "results": [][]field{},
			"statistics": map[string]any{"bytesScanned": 0, "recordsMatched": 0, "recordsScanned": 0},
		})
	}
	rows := found.rows
	if rows == nil {
		rows = [][]field{}
	}
	return wire.JSON(map[string]any{"status": "Complete", "results": rows, "statistics": map[string]any{
		"bytesScanned": found.bytes, "recordsMatched": found.matched, "recordsScanned": found.read,
	}})
}

// parseQuery reads the commands of a query, and the names of the fields in its rows.
func parseQuery(text string) (stages []stage, wanted []string, err error) {
	wanted = []string{"@timestamp", "@message"}
	for _, command := range splitOutside(text, '|') {
		word, rest, _ := strings.Cut(strings.TrimSpace(command), " ")
		var made stage
		switch word {
		case "fields":
			made, wanted, err = parseFields(rest)
		case "filter":
			made, err = parseFilter(rest)
		case "stats":
			made, wanted, err = parseStats(rest)
		case "sort":
			made, err = parseSort(rest)
		case "limit":
			made, err = parseLimit(rest)
		default:
			err = malformed("the local Logs Insights has no command %q", word)
		}
		if err != nil {
			return nil, nil, err
		}
		stages = append(stages, made)
	}
	return stages, wanted, nil
}

// splitOutside splits a text at a character, except within quotes, brackets and parentheses.
func splitOutside(text string, at rune) []string {
	var parts []string
	start, depth, quoted := 0, 0, false
	for i, r := range text {
		switch {
		case r == '\'':
			quoted = !quoted
		case quoted:
		case r == '(' || r == '[':
			depth++
		case r == ')' || r == ']':
			depth--
		case r == at && depth == 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

var (
	coalesced = regexp.MustCompile(`^coalesce\((.*)\) as (\w+)$`)
	named     = regexp.MustCompile("^`?([@\\w.-]+)`?$")
	isIn      = regexp.MustCompile(`^([@\w.-]+) in \[(.*)\]$`)
	compares  = regexp.MustCompile(`^([@\w.-]+) (=|like) '([^']*)'$`)
	sums      = regexp.MustCompile(`^(count|latest)\(([@\w.*-]+)\) as (\w+)$`)
	binned    = regexp.MustCompile(`^bin\((\d+)(s|m|h)\)$`)
)

func parseFields(text string) (stage, []string, error) {
	var wanted []string
	sources := map[string][]string{}
	for _, part := range splitOutside(text, ',') {
		part = strings.TrimSpace(part)
		if found := coalesced.FindStringSubmatch(part); found != nil {
			for _, source := range strings.Split(found[1], ",") {
				sources[found[2]] = append(sources[found[2]], strings.TrimSpace(source))
			}
			wanted = append(wanted, found[2])
		} else if found := named.FindStringSubmatch(part); found != nil {
			wanted = append(wanted, found[1])
		} else {
			return nil, nil, malformed("the local Logs Insights cannot read the field %q", part)
		}
	}
	return func(records []record) []record {
		for _, r := range records {
			for name, from := range sources {
				if i := slices.IndexFunc(from, func(source string) bool { return r.values[source] != "" }); i >= 0 {
					r.values[name] = r.values[from[i]]
				}
			}
		}
		return records
	}, wanted, nil
}

func parseFilter(text string) (stage, error) {
	var terms []func(record) bool
	for _, part := range strings.Split(text, " or ") {
		part = strings.TrimSpace(part)
		if found := isIn.FindStringSubmatch(part); found != nil {
			var values []string
			for _, value := range splitOutside(found[2], ',') {
				values = append(values, strings.Trim(strings.TrimSpace(value), "'"))
			}
			terms = append(terms, func(r record) bool { return slices.Contains(values, r.values[found[1]]) })
		} else if found := compares.FindStringSubmatch(part); found != nil {
			terms = append(terms, func(r record) bool {
				value, has := r.values[found[1]]
				return has && (value == found[3] || found[2] == "like" && strings.Contains(value, found[3]))
			})
		} else {
			return nil, malformed("the local Logs Insights cannot read the condition %q", part)
		}
	}
	return func(records []record) []record {
		return slices.DeleteFunc(records, func(r record) bool {
			return !slices.ContainsFunc(terms, func(term func(record) bool) bool { return term(r) })
		})
	}, nil
}

// sum is an aggregate function with the name of its value.
type sum struct{ function, of, as string }

func parseStats(text string) (stage, []string, error) {
	first, second, grouped := strings.Cut(text, " by ")
	var all []sum
	for _, part := range splitOutside(first, ',') {
		found := sums.FindStringSubmatch(strings.TrimSpace(part))
		if found == nil {
			return nil, nil, malformed("the local Logs Insights cannot compute %q", strings.TrimSpace(part))
		}
		all = append(all, sum{found[1], found[2], found[3]})
	}
	var keys []string
	if grouped {
		for _, part := range splitOutside(second, ',') {
			key := strings.TrimSpace(part)
			if !named.MatchString(key) && !binned.MatchString(key) {
				return nil, nil, malformed("the local Logs Insights cannot group by %q", key)
			}
			keys = append(keys, key)
		}
	}
	wanted := slices.Clone(keys)
	for _, one := range all {
		wanted = append(wanted, one.as)
	}
	return func(records []record) []record { return aggregate(records, keys, all) }, wanted, nil
}

// aggregate makes a record of each group. Records come with the newest first.
func aggregate(records []record, keys []string, all []sum) []record {
	byGroup, counts := map[string]record{}, map[string]int{}
	for _, r := range records {
		values := map[string]string{}
		var group strings.Builder
		for _, key := range keys {
			value, has := keyOf(r, key)
			if has {
				values[key] = value
			}
			fmt.Fprintf(&group, "%t%q", has, value)
		}
		id := group.String()
		made, known := byGroup[id]
		if !known {
			made = record{at: r.at, values: values}
			byGroup[id] = made
		}
		counts[id]++
		for _, one := range all {
			_, has := made.values[one.as]
			switch value := r.values[one.of]; {
			case one.function == "count":
				made.values[one.as] = strconv.Itoa(counts[id])
			case !has && value != "":
				made.values[one.as] = value
			}
		}
	}
	var made []record
	for _, r := range byGroup {
		made = append(made, r)
	}
	slices.SortFunc(made, func(a, b record) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(fmt.Sprint(a.values), fmt.Sprint(b.values)))
	})
	return made
}

// keyOf is the value of a group's key: that of a field, or the beginning of a part of time.
func keyOf(r record, key string) (value string, has bool) {
	if found := binned.FindStringSubmatch(key); found != nil {
		span, err := time.ParseDuration(found[1] + found[2])
		return stamp(r.at.Truncate(span)), err == nil
	}
	value, has = r.values[key]
	return value, has
}

func parseSort(text string) (stage, error) {
	name, order, _ := strings.Cut(strings.TrimSpace(text), " ")
	if name != "@timestamp" || order != "asc" && order != "desc" {
		return nil, malformed("the local Logs Insights cannot sort by %q", text)
	}
	return func(records []record) []record {
		slices.SortStableFunc(records, func(a, b record) int {
			if order == "asc" {
				return a.at.Compare(b.at)
			}
			return b.at.Compare(a.at)
		})
		return records
	}, nil
}

func parseLimit(text string) (stage, error) {
	most, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || most < 1 || most > 10_000 {
		return nil, malformed("limit %q is not a number from 1 to 10000", text)
	}
	return func(records []record) []record { return records[:min(most, len(records))] }, nil
}
