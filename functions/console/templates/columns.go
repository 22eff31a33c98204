package templates

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	"k8s.io/client-go/util/jsonpath"
)

// column is a column of custom-columns.
type column struct {
	header string
	path   *jsonpath.JSONPath
}

// parseColumns reads HEADER:PATH,HEADER:PATH. As with kubectl, a comma always ends a column.
func parseColumns(text string) ([]column, error) {
	var columns []column
	for part := range strings.SplitSeq(text, ",") {
		header, path, found := strings.Cut(part, ":")
		if !found {
			return nil, fmt.Errorf("the column %q has no colon between its header and its path", part)
		}
		made, err := newColumn(header, path)
		if err != nil {
			return nil, err
		}
		columns = append(columns, made)
	}
	return columns, nil
}

// parseColumnLines reads a line of headers and a line of paths.
func parseColumnLines(text string) ([]column, error) {
	lines := strings.SplitN(text, "\n", 3)
	if len(lines) < 2 {
		return nil, errors.New("the file has no second line, which has the paths")
	}
	headers, paths := strings.Fields(lines[0]), strings.Fields(lines[1])
	if len(headers) != len(paths) || len(headers) == 0 {
		return nil, fmt.Errorf("the file has %d headers and %d paths", len(headers), len(paths))
	}
	var columns []column
	for i := range headers {
		made, err := newColumn(headers[i], paths[i])
		if err != nil {
			return nil, err
		}
		columns = append(columns, made)
	}
	return columns, nil
}

// relaxed is a path with or without its braces and its first point.
var relaxed = regexp.MustCompile(`^(?:\{\.?([^{}]+)\}|\.?([^{}]+))$`)

func newColumn(header, path string) (column, error) {
	parts := relaxed.FindStringSubmatch(path)
	if parts == nil {
		return column{}, fmt.Errorf("the column %q has the path %q, which is none such as .name", header, path)
	}
	made := column{header, jsonpath.New(header).AllowMissingKeys(true)}
	if err := made.path.Parse("{." + parts[1] + parts[2] + "}"); err != nil {
		return column{}, fmt.Errorf("the column %q has the path %q, which is no JSONPath (%w)", header, path, err)
	}
	return made, nil
}

// writeColumns writes a header and a row for each entry, with kubectl's widths.
func writeColumns(out io.Writer, columns []column, entries []any) error {
	table := tabwriter.NewWriter(out, 6, 4, 3, ' ', 0)
	var cells []string
	for _, c := range columns {
		cells = append(cells, c.header)
	}
	fmt.Fprintln(table, strings.Join(cells, "\t"))
	for _, entry := range entries {
		cells = cells[:0]
		for _, c := range columns {
			text, err := c.cell(entry)
			if err != nil {
				return err
			}
			cells = append(cells, text)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// cell is the value of a column, or its values with commas.
func (c *column) cell(entry any) (string, error) {
	results, err := c.path.FindResults(entry)
	if err != nil {
		return "", fmt.Errorf("the column %q does not fit the object: %w (-o json shows its fields)", c.header, err)
	}
	var values []string
	for _, found := range results {
		for _, value := range found {
			values = append(values, fmt.Sprint(value.Interface()))
		}
	}
	if len(values) == 0 {
		return "<none>", nil
	}
	return strings.Join(values, ","), nil
}
