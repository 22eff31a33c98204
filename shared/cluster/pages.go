package cluster

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// pageSize is how many objects one request lists. The bytes of one page are in memory at a time,
	// and the rest of an object that nobody needs is dropped before the next page.
	pageSize = 500
	// maximumPages bounds the pages of a list, for an API server whose list does not end.
	maximumPages = 4000
	// maximumStarts bounds how often a list begins anew.
	maximumStarts = 3
)

// pages reads a collection of a built-in kind page by page, all as of one version. The caller's page
// receives a function that reads the next page into a list. It keeps what it needs, and returns the
// list's continue token. An API server forgets a version after some minutes, and compacts it under
// load. Then the list begins anew, after reset. An API server may ignore the page size for a list
// from its watch cache.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
func (c *Client) pages(
	ctx context.Context, path string, reset func(), page func(read func(runtime.Object) error) (string, error),
	parameters ...string,
) error {
	for start := 1; ; start++ {
		err := c.readPages(ctx, path, page, parameters)
		if err == nil || !apierrors.IsResourceExpired(err) || start == maximumStarts {
			return err
		}
		reset()
	}
}

// readPages reads all pages once.
func (c *Client) readPages(
	ctx context.Context, path string, page func(read func(runtime.Object) error) (string, error), first []string,
) error {
	next := ""
	for range maximumPages {
		parameters := append([]string{"limit", strconv.Itoa(pageSize)}, first...)
		if next != "" {
			// The token contains the version.
			parameters = []string{"limit", strconv.Itoa(pageSize), "continue", next, versionParameter, ""}
		}
		following, err := page(func(into runtime.Object) error { return c.list(ctx, path, into, parameters...) })
		if err != nil || following == "" {
			return err
		}
		next = following
	}
	return fmt.Errorf("listing %s: more than %d pages", path, maximumPages)
}
