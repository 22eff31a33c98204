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
	result := listingXML{
		Name: bucket, Prefix: query.Get("prefix"), Delimiter: query.Get("delimiter"), MaxKeys: maxListed,
		EncodingType: query.Get("encoding-type"),
	}
	if given := query.Get("max-keys"); given != "" {
		limit, err := strconv.Atoi(given)
		if err != nil || limit < 0 {
			return nil, wire.Errorf("InvalidArgument", http.StatusBadRequest, "max-keys %q is not a number of at least 0", given)
		}
		result.MaxKeys = min(limit, maxListed)
	}
	after := query.Get("start-after")
	if marker := query.Get("marker"); marker != "" {
		after = marker
	}
	if result.ContinuationToken = query.Get("continuation-token"); result.ContinuationToken != "" {
		raw, err := base64.URLEncoding.DecodeString(result.ContinuationToken)
		if err != nil {
			return nil, wire.Errorf("InvalidArgument", http.StatusBadRequest, "The continuation token provided is incorrect")
		}
		after = string(raw)
	}
	last := ""
	for _, o := range objects {
		if !strings.HasPrefix(o.Key, result.Prefix) || o.Key <= after {
			continue
		}
		group := ""
		if result.Delimiter != "" {
			if before, _, found := strings.Cut(o.Key[len(result.Prefix):], result.Delimiter); found {
				group = result.Prefix + before + result.Delimiter
			}
		}
		if group != "" && (strings.HasPrefix(after, group) || len(result.CommonPrefixes) > 0 &&
			result.CommonPrefixes[len(result.CommonPrefixes)-1].Prefix == result.encode(group)) {
			last = o.Key
			continue
		}
		if result.KeyCount == result.MaxKeys {
			result.IsTruncated = true
			break
		}
		result.KeyCount++
		last = o.Key
		if group != "" {
			result.CommonPrefixes = append(result.CommonPrefixes, prefixXML{result.encode(group)})
			continue
		}
		result.Contents = append(result.Contents,
			contentXML{result.encode(o.Key), o.Modified, `"` + o.ETag + `"`, o.Size, "STANDARD"})
	}
	if result.IsTruncated {
		if query.Get("list-type") == "2" {
			result.NextContinuationToken = base64.URLEncoding.EncodeToString([]byte(last))
		} else {
			result.NextMarker = last
		}
	}
	return answer("ListBucketResult", result)
}

// encode writes a key as the request asked for it.
func (l *listingXML) encode(key string) string {
	if l.EncodingType != "url" {
		return key
	}
	return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/")
}
