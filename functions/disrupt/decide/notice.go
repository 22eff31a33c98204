package decide

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
)

// reportWindow is the part of each minute in which a pass writes why nodes stay, and the part in which one
// searches for nodes to consolidate. Passes are about twenty seconds apart, so that one of them falls into
// each.
const reportWindow = 20 * time.Second

// blockedEach is how many nodes a pass writes events for that stay. A pass with more of them comes to the
// others in the next minutes.
const blockedEach = 250

// misreadEach is how many events about annotations of pods a pass writes, and misreadEvery is the number
// of minutes after which it writes them again.
const misreadEach, misreadEvery = 50, 5

// InReportWindow reports whether a pass at this time is the one of its minute that reports.
func InReportWindow(now time.Time) bool { return now.Sub(now.Truncate(time.Minute)) < reportWindow }

// Searches reports whether a pass at this time is the one of its minute that searches for nodes to
// consolidate. Each minute has it at another of three places: a job that comes each minute may have the
// room for a move, or restart the time of a node, between the search and its check.
func Searches(now time.Time) bool {
	return now.Second()/int(reportWindow.Seconds()) == now.Minute()%3
}

// Blocked are the events that say why nodes stay which are due. There are none outside the report
// window.
func Blocked(notices []disruption.Notice, now time.Time) []Record {
	if !InReportWindow(now) {
		return nil
	}
	return Stay(notices, now)
}

// Stay are the events that say why nodes stay, for a pass that is one of its minute. As in Karpenter,
// a closed budget is no warning: somebody wanted it. What a person has to mend is one.
func Stay(notices []disruption.Notice, now time.Time) []Record {
	passing := func(notice disruption.Notice) bool { return notice.Passing }
	notices = slices.DeleteFunc(slices.Clone(notices), passing)
	if len(notices) > blockedEach {
		first := int(now.Unix() / 60 * blockedEach % int64(len(notices)))
		notices = append(slices.Clone(notices[first:]), notices[:first]...)[:blockedEach]
	}
	var events []Record
	for _, notice := range notices {
		if notice.Pool != nil {
			event := normal(disruption.AboutPool(notice.Pool), "DisruptionBlocked", notice.Message)
			if notice.Mend {
				event.Type = corev1.EventTypeWarning
			}
			events = append(events, event)
			continue
		}
		events = append(events,
			normal(disruption.AboutNode(notice.Node.Node), "DisruptionBlocked", notice.Message),
			normal(disruption.AboutClaim(notice.Node.Claim), "DisruptionBlocked", notice.Message))
	}
	return events
}

// Misread are the events about pods whose annotation cannot be read, so that it protects nothing. The
// owner learns of it before the node drains. The first pods by name have one, because each is a call.
func Misread(seen *disruption.Cluster, now time.Time) []Record {
	if !InReportWindow(now) || now.Minute()%misreadEvery != 0 {
		return nil
	}
	var events []Record
	for i := range seen.Nodes {
		for _, pod := range seen.Nodes[i].Pods {
			if _, err := protection.OfPod(pod, now); err != nil {
				events = append(events, Record{
					About: disruption.AboutPod(pod), Type: corev1.EventTypeWarning, Reason: "InvalidDoNotDisruptAnnotation",
					Message: err.Error(),
				})
			}
		}
	}
	slices.SortFunc(events, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.About.Namespace, b.About.Namespace), cmp.Compare(a.About.Name, b.About.Name))
	})
	return events[:min(len(events), misreadEach)]
}
