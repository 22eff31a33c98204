package s3

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// maxListed is S3's maximum number of keys in one listing.
const maxListed = 1000

type contentXML struct {
	Key          string
	LastModified time.Time
	ETag         string
	Size         int64
	StorageClass string
}

type prefixXML struct{ Prefix string }

type listingXML struct {
	Name                  string
	Prefix                string
	Delimiter             string `xml:",omitempty"`
	MaxKeys               int
	KeyCount              int
	IsTruncated           bool
	ContinuationToken     string `xml:",omitempty"`
	NextContinuationToken string `xml:",omitempty"`
	NextMarker            string `xml:",omitempty"`
	EncodingType          string `xml:",omitempty"`
	Contents              []contentXML
	CommonPrefixes        []prefixXML
}

// listObjects answers both forms of listing, which differ in how the next page is named.
func (s *Service) listObjects(bucket string, query url.Values) (*wire.Response, error) {
	objects, err := s.list(bucket)
	if err != nil {
		return nil, err
	}
	result, after, err := newListing(bucket, query)
	if err != nil {
		return nil, err
	}
	last := result.fill(objects, after)
	if result.IsTruncated {
		if query.Get("list-type") == "2" {
			result.NextContinuationToken = base64.URLEncoding.EncodeToString([]byte(last))
		} else {
			result.NextMarker = last
		}
	}
	return answer("ListBucketResult", *result)
}

// newListing reads a request. The listing has the keys behind after.
func newListing(bucket string, query url.Values) (result *listingXML, after string, err error) {
	result = &listingXML{
		Name: bucket, Prefix: query.Get("prefix"), Delimiter: query.Get("delimiter"), MaxKeys: maxListed,
		EncodingType: query.Get("encoding-type"),
	}
	if given := query.Get("max-keys"); given != "" {
		limit, err := strconv.Atoi(given)
		if err != nil || limit < 0 {
			return nil, "", wire.Errorf("InvalidArgument", http.StatusBadRequest, "max-keys %q is not a number of at least 0",
				given)
		}
		result.MaxKeys = min(limit, maxListed)
	}
	after = query.Get("start-after")
	if marker := query.Get("marker"); marker != "" {
		after = marker
	}
	if result.ContinuationToken = query.Get("continuation-token"); result.ContinuationToken != "" {
		raw, err := base64.URLEncoding.DecodeString(result.ContinuationToken)
		if err != nil {
			return nil, "", wire.Errorf("InvalidArgument", http.StatusBadRequest,
				"The continuation token provided is incorrect")
		}
		after = string(raw)
	}
	return result, after, nil
}

// fill adds the objects behind a key and returns the last key that it used.
func (l *listingXML) fill(objects []*object, after string) (last string) {
	for _, o := range objects {
		if !strings.HasPrefix(o.Key, l.Prefix) || o.Key <= after {
			continue
		}
		group := l.group(o.Key)
		if group != "" && (strings.HasPrefix(after, group) || l.ends(group)) {
			last = o.Key
			continue
		}
		if l.KeyCount == l.MaxKeys {
			l.IsTruncated = true
			break
		}
		l.KeyCount++
		last = o.Key
		if group != "" {
			l.CommonPrefixes = append(l.CommonPrefixes, prefixXML{l.encode(group)})
			continue
		}
		l.Contents = append(l.Contents, contentXML{l.encode(o.Key), o.Modified, `"` + o.ETag + `"`, o.Size, "STANDARD"})
	}
	return last
}

// group is the common prefix that stands for a key, empty for none.
func (l *listingXML) group(key string) string {
	if l.Delimiter == "" {
		return ""
	}
	before, _, found := strings.Cut(key[len(l.Prefix):], l.Delimiter)
	if !found {
		return ""
	}
	return l.Prefix + before + l.Delimiter
}

// ends reports whether the listing's last common prefix is the group.
func (l *listingXML) ends(group string) bool {
	count := len(l.CommonPrefixes)
	return count > 0 && l.CommonPrefixes[count-1].Prefix == l.encode(group)
}

// encode writes a key as the request asked for it.
func (l *listingXML) encode(key string) string {
	if l.EncodingType != "url" {
		return key
	}
	return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/")
}
