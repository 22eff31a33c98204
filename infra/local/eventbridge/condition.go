package eventbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
)

// condition decides on one scalar of the event, or on missing.
type condition func(value any) bool

// largestNumber limits the numbers of numeric conditions on both sides of zero.
const largestNumber = 5e9

// longestNumber keeps a number's exponent from becoming a number of gigabytes.
const longestNumber = 64

func parseCondition(value any) (condition, error) {
	switch value := value.(type) {
	case map[string]any:
		return parseOperator(value)
	case []any:
		return nil, fmt.Errorf("%s: arrays do not nest in patterns", show(value))
	default:
		return equals(value), nil
	}
}

// equals compares scalars; numbers by their text, so that 300 and 300.0 differ, as AWS documents.
func equals(wanted any) condition {
	return func(value any) bool { return value == wanted }
}

func parseOperator(object map[string]any) (condition, error) {
	if len(object) != 1 {
		return nil, fmt.Errorf("%s: an operator is an object with exactly one key", show(object))
	}
	for name, argument := range object {
		switch name {
		case "prefix", "suffix", "equals-ignore-case", "wildcard":
			return parseText(name, argument)
		case "anything-but":
			return parseAnythingBut(argument)
		case "numeric":
			return parseNumeric(argument)
		case "exists":
			wanted, ok := argument.(bool)
			if !ok {
				return nil, fmt.Errorf("exists takes true or false, not %s", show(argument))
			}
			return func(value any) bool { return (value != missing{}) == wanted }, nil
		case "cidr":
			return parseCIDR(argument)
		default:
			return nil, fmt.Errorf(
				"unknown operator %q; there are prefix, suffix, equals-ignore-case, wildcard, anything-but, numeric, exists and "+
					"cidr", name)
		}
	}
	return nil, errors.New("an operator has a key")
}

// parseText reads the operators on strings. Prefix and suffix also take {"equals-ignore-case":
// text}.
func parseText(name string, argument any) (condition, error) {
	folded := false
	if object, ok := argument.(map[string]any); ok && len(object) == 1 && (name == "prefix" || name == "suffix") {
		if inner, ok := object["equals-ignore-case"]; ok {
			argument, folded = inner, true
		}
	}
	text, ok := argument.(string)
	if !ok {
		return nil, fmt.Errorf("%s takes a string, not %s", name, show(argument))
	}
	if text == "" && (name == "prefix" || name == "suffix") {
		return nil, fmt.Errorf("%s takes a string that is not empty", name)
	}
	test, err := textTest(name, text, folded)
	if err != nil {
		return nil, err
	}
	return func(value any) bool {
		text, ok := value.(string)
		return ok && test(text)
	}, nil
}

// textTest returns the comparison of an operator with a text. folded ignores upper and lower case.
func textTest(name, text string, folded bool) (func(string) bool, error) {
	lower := strings.ToLower(text)
	switch {
	case name == "equals-ignore-case":
		return func(value string) bool { return strings.EqualFold(value, text) }, nil
	case name == "wildcard":
		return parseWildcard(text)
	case folded && name == "prefix":
		return func(value string) bool { return strings.HasPrefix(strings.ToLower(value), lower) }, nil
	case folded:
		return func(value string) bool { return strings.HasSuffix(strings.ToLower(value), lower) }, nil
	case name == "prefix":
		return func(value string) bool { return strings.HasPrefix(value, text) }, nil
	default:
		return func(value string) bool { return strings.HasSuffix(value, text) }, nil
	}
}

// parseWildcard cuts a pattern at its asterisks; \* and \\ stand for themselves.
func parseWildcard(pattern string) (func(string) bool, error) {
	var parts []string
	var part strings.Builder
	star := false
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			if i+1 == len(pattern) || pattern[i+1] != '*' && pattern[i+1] != '\\' {
				return nil, fmt.Errorf(`wildcard %q: a backslash stands before * or \ only`, pattern)
			}
			i++
			part.WriteByte(pattern[i])
			star = false
		case '*':
			if star {
				return nil, fmt.Errorf("wildcard %q: consecutive * are not allowed", pattern)
			}
			parts = append(parts, part.String())
			part.Reset()
			star = true
		default:
			part.WriteByte(pattern[i])
			star = false
		}
	}
	last := part.String()
	if len(parts) == 0 {
		return func(value string) bool { return value == last }, nil
	}
	first, middle := parts[0], parts[1:]
	return func(value string) bool {
		rest, ok := strings.CutPrefix(value, first)
		for _, part := range middle {
			if !ok {
				return false
			}
			_, rest, ok = strings.Cut(rest, part)
		}
		return ok && strings.HasSuffix(rest, last)
	}, nil
}

// parseAnythingBut matches every value that is there and that none of its arguments matches.
func parseAnythingBut(argument any) (condition, error) {
	var excluded leaf
	switch argument := argument.(type) {
	case map[string]any:
		var err error
		if excluded, err = excludedTexts(argument); err != nil {
			return nil, err
		}
	case []any:
		for _, element := range argument {
			if err := scalar(element); err != nil {
				return nil, err
			}
			excluded = append(excluded, equals(element))
		}
	default:
		if err := scalar(argument); err != nil {
			return nil, err
		}
		excluded = leaf{equals(argument)}
	}
	if len(excluded) == 0 {
		return nil, errors.New("anything-but takes at least one value")
	}
	return func(value any) bool { return value != missing{} && !excluded.matchesOne(value) }, nil
}

// excludedTexts reads the operator in an anything-but.
func excludedTexts(argument map[string]any) (excluded leaf, err error) {
	if len(argument) != 1 {
		return nil, fmt.Errorf("anything-but %s: it takes one operator", show(argument))
	}
	for name, texts := range argument {
		if name != "prefix" && name != "suffix" && name != "equals-ignore-case" && name != "wildcard" {
			return nil, fmt.Errorf("anything-but takes prefix, suffix, equals-ignore-case or wildcard, not %q", name)
		}
		list, ok := texts.([]any)
		if !ok {
			list = []any{texts}
		}
		for _, text := range list {
			c, err := parseText(name, text)
			if err != nil {
				return nil, fmt.Errorf("anything-but: %w", err)
			}
			excluded = append(excluded, c)
		}
	}
	return excluded, nil
}

func scalar(value any) error {
	switch value.(type) {
	case string, json.Number:
		return nil
	default:
		return fmt.Errorf("anything-but takes strings and numbers, not %s", show(value))
	}
}

// parseNumeric reads ["=", 5] or one or two of <, <=, >, >= with their numbers.
func parseNumeric(argument any) (condition, error) {
	list, ok := argument.([]any)
	if !ok || len(list) != 2 && len(list) != 4 {
		return nil, fmt.Errorf(`numeric %s: it takes an operator and a number, or two of each, such as [">", 0, "<=", 5]`,
			show(argument))
	}
	var bounds []bound
	for i := 0; i < len(list); i += 2 {
		operator, ok := list[i].(string)
		if !ok || !strings.Contains(" = < <= > >= ", " "+operator+" ") {
			return nil, fmt.Errorf("numeric: %s is none of =, <, <=, > and >=", show(list[i]))
		}
		number, ok := parseNumber(list[i+1])
		if !ok {
			return nil, fmt.Errorf("numeric: %s is not a number from -5e9 to 5e9", show(list[i+1]))
		}
		bounds = append(bounds, bound{operator, number})
	}
	if len(bounds) == 2 {
		if err := checkRange(bounds[0], bounds[1]); err != nil {
			return nil, fmt.Errorf("numeric %s: %w", show(argument), err)
		}
	}
	return func(value any) bool {
		number, ok := parseNumber(value)
		if !ok {
			return false
		}
		for _, b := range bounds {
			order := number.Cmp(b.number)
			holds := map[string]bool{
				"=": order == 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0,
			}[b.operator]
			if !holds {
				return false
			}
		}
		return true
	}, nil
}

// bound is one comparison of a numeric condition.
type bound struct {
	operator string
	number   *big.Rat
}

// checkRange requires one lower and one upper bound, in either order, with numbers between them.
func checkRange(lower, upper bound) error {
	if strings.HasPrefix(lower.operator, "<") {
		lower, upper = upper, lower
	}
	if lower.operator[0] != '>' || upper.operator[0] != '<' {
		return errors.New("a range has one lower and one upper bound")
	}
	if lower.number.Cmp(upper.number) >= 0 {
		return errors.New("the lower bound is not below the upper one")
	}
	return nil
}

func parseNumber(value any) (*big.Rat, bool) {
	number, ok := value.(json.Number)
	if !ok || len(number) > longestNumber {
		return nil, false
	}
	approximate, err := number.Float64()
	if err != nil || approximate < -largestNumber || approximate > largestNumber {
		return nil, false
	}
	if approximate != 0 && approximate < 1e-300 && approximate > -1e-300 {
		return new(big.Rat), true
	}
	if approximate == 0 {
		return new(big.Rat), true
	}
	return new(big.Rat).SetString(number.String())
}

// parseCIDR matches IPv4 and IPv6 addresses of a network.
func parseCIDR(argument any) (condition, error) {
	text, ok := argument.(string)
	if !ok {
		return nil, fmt.Errorf("cidr takes a string, not %s", show(argument))
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return nil, fmt.Errorf("cidr %q: it must be a network such as 10.0.0.0/24 or 2001:db8::/32", text)
	}
	return func(value any) bool {
		text, ok := value.(string)
		if !ok {
			return false
		}
		address, err := netip.ParseAddr(text)
		return err == nil && network.Contains(address)
	}, nil
}
