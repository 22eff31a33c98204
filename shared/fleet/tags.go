package fleet

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// tagList returns the tags in the order of their keys, so that equal requests have equal bytes.
func tagList(tags map[string]string) []types.Tag {
	list := make([]types.Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return list
}
