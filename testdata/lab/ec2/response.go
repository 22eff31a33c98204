package ec2

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// set is a list in EC2's XML: an element that is there even when nothing is in it.
type set[T any] struct {
	Items []T `xml:"item"`
}

func setOf[T any](items []T) set[T] { return set[T]{Items: items} }

// returned is the answer of actions without a result.
type returned struct {
	Return bool `xml:"return"`
}

// timestamp is a time as EC2 writes it: UTC with milliseconds.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// pageBounds are EC2's limits of MaxResults for one action; Default is the size of a page when the
// caller names none, 0 for no pages.
type pageBounds struct{ Least, Most, Default int }

// paginate cuts one page out of all results. A token holds the offset of the page that follows.
func paginate[T any](all []T, maxResults *int, token string, bounds pageBounds) (page []T, next string, err error) {
	size := bounds.Default
	if maxResults != nil {
		size = *maxResults
		if size < bounds.Least {
			return nil, "", invalidValue(size, "maxResults",
				"Expecting a value greater than or equal to "+strconv.Itoa(bounds.Least)+".")
		}
		if size > bounds.Most {
			return nil, "", invalidValue(size, "maxResults",
				"Expecting a value less than or equal to "+strconv.Itoa(bounds.Most)+".")
		}
	}
	offset := 0
	if token != "" {
		if offset, err = tokenOffset(token); err != nil || offset > len(all) {
			return nil, "", refuse("InvalidNextToken", "The token %q is not one that this service gave for these results", token)
		}
	}
	end := len(all)
	if size > 0 && offset+size < len(all) {
		end = offset + size
		next = offsetToken(end)
	}
	return all[offset:end], next, nil
}

const tokenPrefix = "offset="

func offsetToken(offset int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + strconv.Itoa(offset)))
}

func tokenOffset(token string) (int, error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(string(text), tokenPrefix), 10, 31)
	return int(n), err
}
