package cluster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
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

// decoding returns the objects of one page that are to be kept, and the page's metadata.
type decoding[T any] func(body []byte) ([]T, metav1.ListMeta, error)

// pages reads a collection page by page, all as of one version, which is the newest. An API server
// forgets a version after some minutes, and compacts it under load. Then the list begins anew.
//
// The list does not come from the watch cache: with resourceVersion 0 an API server ignores the page
// size, and a large cluster's pods would be in memory twice.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
func pages[T any](ctx context.Context, c *Client, path, accept string, decode decoding[T]) ([]T, error) {
	list, err := readPages(ctx, c, path, accept, decode)
	return list.items, err
}

// listed is a list that was read.
type listed[T any] struct {
	items   []T
	version string
	bytes   int // the size of all pages
}

// readPages reads a collection like pages.
func readPages[T any](
	ctx context.Context, c *Client, path, accept string, decode decoding[T],
) (list listed[T], err error) {
	for range maximumStarts {
		list = listed[T]{}
		list.version, err = c.eachPage(ctx, path, accept, pageSize, wholePage, func(body []byte) (metav1.ListMeta, error) {
			items, meta, err := decode(body)
			list.items = append(list.items, items...)
			list.bytes += len(body)
			return meta, err
		})
		if err == nil {
			return list, nil
		}
		if !apierrors.IsResourceExpired(err) {
			break
		}
	}
	return listed[T]{}, err
}

// pageReader returns the body of an answer.
type pageReader func(context.Context, *rest.Request) ([]byte, error)

// wholePage reads a page into memory of its own.
func wholePage(ctx context.Context, request *rest.Request) ([]byte, error) {
	result := request.Do(ctx)
	body, err := result.Raw()
	if err != nil {
		// The error of Result.Error has the server's message and reason; Raw's has not.
		return nil, cmp.Or(result.Error(), err)
	}
	return body, nil
}

// intoOne reads each page into the memory of the page before, which nobody may use any more. The pages of a large
// collection else take more time to get their memory than to be visited.
func intoOne() pageReader {
	var buffer bytes.Buffer
	return func(ctx context.Context, request *rest.Request) ([]byte, error) {
		stream, err := request.Stream(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = stream.Close() }() // it was read to its end, or its error is known
		buffer.Reset()
		_, err = buffer.ReadFrom(stream)
		return buffer.Bytes(), err
	}
}

// eachPage visits the pages of a collection once, and returns the collection's version. visit
// returns the metadata of a page.
func (c *Client) eachPage(
	ctx context.Context, path, accept string, size int, read pageReader, visit func(body []byte) (metav1.ListMeta, error),
) (version string, err error) {
	token := ""
	for range maximumPages {
		request := c.rest.Get().AbsPath(path).SetHeader("Accept", accept).Param("limit", strconv.Itoa(size))
		if token != "" {
			request = request.Param("continue", token) // it contains the version
		}
		body, err := read(ctx, request)
		if err != nil {
			return "", fmt.Errorf("listing %s: %w", path, err)
		}
		meta, err := visit(body)
		if err != nil {
			return "", fmt.Errorf("listing %s: %w", path, err)
		}
		if token = meta.Continue; token == "" {
			return meta.ResourceVersion, nil
		}
	}
	return "", fmt.Errorf("listing %s: more than %d pages", path, maximumPages)
}

// builtIn returns a function that decodes a page of a built-in kind whose objects are small.
func builtIn[T any, L interface {
	runtime.Object
	metav1.ListInterface
}](c *Client, page L, items func(L) []T) decoding[T] {
	return func(body []byte) ([]T, metav1.ListMeta, error) {
		fresh, _ := page.DeepCopyObject().(L)
		if err := c.decode(body, fresh); err != nil {
			return nil, metav1.ListMeta{}, err
		}
		return items(fresh), metav1.ListMeta{
			ResourceVersion: fresh.GetResourceVersion(), Continue: fresh.GetContinue(),
		}, nil
	}
}

// decode decodes a list in Protocol Buffers or JSON, without managedFields.
func (c *Client) decode(body []byte, into runtime.Object) error {
	if _, _, err := c.decoder.Decode(body, nil, into); err != nil {
		return err
	}
	return withoutManagedFields(into)
}

// withoutManagedFields drops the managedFields of a list's objects, which nobody reads.
func withoutManagedFields(list runtime.Object) error {
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			object.SetManagedFields(nil)
		}
		return err
	})
}
