package ec2

import (
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

type volumeXML struct {
	VolumeID           string                   `xml:"volumeId"`
	Size               int                      `xml:"size"`
	AvailabilityZone   string                   `xml:"availabilityZone"`
	AvailabilityZoneID string                   `xml:"availabilityZoneId"`
	Status             string                   `xml:"status"`
	CreateTime         string                   `xml:"createTime"`
	Attachments        set[volumeAttachmentXML] `xml:"attachmentSet"`
	Tags               set[tagXML]              `xml:"tagSet"`
	VolumeType         string                   `xml:"volumeType"`
	Encrypted          bool                     `xml:"encrypted"`
	Iops               int                      `xml:"iops,omitempty"`
	Throughput         int                      `xml:"throughput,omitempty"`
	tags               map[string]string
}

// describeVolumes shows the volumes of the instances that the call sees and that are not on their way
// out: all volumes here are deleted with their instance.
func (s *Service) describeVolumes(_ *wire.Call, in *describeVolumesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []volumeXML
	from := s.view()
	for _, i := range s.sorted(func(i *instance) bool {
		seen, known := i.seen(from)
		return known && !seen.ending()
	}) {
		for n := range i.volumes {
			v := &i.volumes[n]
			tags := v.seenTags(from)
			all = append(all, volumeXML{
				VolumeID: v.id, Size: v.sizeGiB, AvailabilityZone: i.Zone, AvailabilityZoneID: i.ZoneID, Status: "in-use",
				CreateTime: timestamp(v.created),
				Attachments: setOf([]volumeAttachmentXML{
					{v.id, i.ID, v.device, "attached", timestamp(v.created), v.deleteOnTermination},
				}),
				Tags: tagSet(tags), VolumeType: v.kind, Encrypted: v.encrypted, Iops: v.iops, Throughput: v.throughput,
				tags: tags,
			})
		}
	}
	all, err := pick(all, in.VolumeIDs, func(v volumeXML) string { return v.VolumeID }, "InvalidVolume.NotFound", "volume")
	if err != nil {
		return nil, err
	}
	all, err = matching(all, in.Filters, fields[volumeXML]{
		"availability-zone": func(v volumeXML) []string { return one(v.AvailabilityZone) },
		"encrypted":         func(v volumeXML) []string { return yesNo(v.Encrypted) },
		"status":            func(v volumeXML) []string { return one(v.Status) },
	}, func(v volumeXML) map[string]string { return v.tags })
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(all, in.MaxResults, in.NextToken, manyResults)
	if err != nil {
		return nil, err
	}
	return &describeVolumesResult{setOf(page), next}, nil
}
