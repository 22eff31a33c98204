package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/disruption"
)

// reportWindow is the part of each minute in which a pass writes why nodes stay, and searches for
// nodes to consolidate. Passes are about twenty seconds apart, so that one of them falls into it.
const reportWindow = 20 * time.Second

// InReportWindow reports whether a pass at this time is the one of its minute that reports and
// searches.
func InReportWindow(now time.Time) bool { return now.Sub(now.Truncate(time.Minute)) < reportWindow }

// Blocked are the events that say why nodes stay which are due. There are none outside the report
// window.
func Blocked(notices []disruption.Notice, now time.Time) []Record {
	if !InReportWindow(now) {
		return nil
	}
	var events []Record
	for _, notice := range notices {
		if notice.Pool != nil {
			events = append(events, Record{
				About: disruption.AboutPool(notice.Pool), Type: corev1.EventTypeWarning,
				Reason: "DisruptionBlocked", Message: notice.Message,
			})
			continue
		}
		events = append(events,
			normal(disruption.AboutNode(notice.Node.Node), "DisruptionBlocked", notice.Message),
			normal(disruption.AboutClaim(notice.Node.Claim), "DisruptionBlocked", notice.Message))
	}
	return events
}
