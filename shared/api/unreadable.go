package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SetUnreadable notes the fields that cannot be read.
func (p *NodePool) SetUnreadable(fields map[string]string) { p.Unreadable = fields }

// SetUnreadable notes the fields that cannot be read.
func (c *EC2NodeClass) SetUnreadable(fields map[string]string) { c.Unreadable = fields }

// SetUnreadable notes the fields that cannot be read.
func (o *NodeOverlay) SetUnreadable(fields map[string]string) { o.Unreadable = fields }

// SetUnreadable notes the fields that cannot be read.
func (b *CapacityBuffer) SetUnreadable(fields map[string]string) { b.Unreadable = fields }

// unreadableText is about a field that cannot be read, with the reason.
const unreadableText = "cannot be read (%s): write a value that Kubernetes would write"

// validateReadable records the fields that cannot be read.
func (f *findings) validateReadable(unreadable map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(unreadable)) {
		f.addField(path, "it "+unreadableText, unreadable[path])
	}
}

// UnreadableText names the fields that cannot be read, each with the reason. It is empty without
// any.
func UnreadableText(unreadable map[string]string) string {
	var texts []string
	for _, path := range slices.Sorted(maps.Keys(unreadable)) {
		texts = append(texts, fmt.Sprintf("%s "+unreadableText, path, unreadable[path]))
	}
	return strings.Join(texts, "; ")
}
