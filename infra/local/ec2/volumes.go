package ec2

import (
	"github.com/whittle-dev/whittle/infra/local/wire"
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

// describeVolumes knows the volumes of instances that are not on their way out: all volumes here
// are deleted with their instance.
func (s *Service) describeVolumes(_ *wire.Call, in *describeVolumesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []volumeXML
	for _, i := range s.sorted(func(i *instance) bool { return i.State != ShuttingDown && i.State != Terminated }) {
		for _, v := range i.volumes {
			all = append(all, volumeXML{
				VolumeID: v.id, Size: v.sizeGiB, AvailabilityZone: i.Zone, AvailabilityZoneID: i.ZoneID, Status: "in-use",
				CreateTime: timestamp(v.created),
				Attachments: setOf([]volumeAttachmentXML{
					{v.id, i.ID, v.device, "attached", timestamp(v.created), v.deleteOnTermination},
				}),
				Tags: tagSet(v.tags), VolumeType: v.kind, Encrypted: v.encrypted, Iops: v.iops, Throughput: v.throughput,
				tags: v.tags,
			})
		}
	}
	all, err := pick(all, in.VolumeIDs, func(v volumeXML) string { return v.VolumeID }, "InvalidVolume.NotFound", "volume")
	if err != nil {
		return nil, err
	}
	all, err = matching(all, in.Filters, fields[volumeXML]{
		"attachment.instance-id": func(v volumeXML) []string { return one(v.Attachments.Items[0].InstanceID) },
		"availability-zone":      func(v volumeXML) []string { return one(v.AvailabilityZone) },
		"encrypted":              func(v volumeXML) []string { return yesNo(v.Encrypted) },
		"status":                 func(v volumeXML) []string { return one(v.Status) },
		"volume-id":              func(v volumeXML) []string { return one(v.VolumeID) },
		"volume-type":            func(v volumeXML) []string { return one(v.VolumeType) },
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
