package events_test

import (
	"errors"
	"fmt"

	"github.com/whittle-dev/whittle/events"
)

// EventBridge delivers the events of the whole account. A caller first looks at the kind of the
// detail, and treats a kind that the package does not know as a success.
func ExampleDecode() {
	for _, text := range []string{
		`{
			"id": "5d7c1f0e", "detail-type": "EC2 Spot Instance Interruption Warning", "source": "aws.ec2",
			"account": "123456789012", "time": "2026-03-14T09:26:53Z", "region": "us-east-1",
			"detail": {"instance-id": "i-0a1b2c3d4e5f60718", "instance-action": "terminate"}
		}`,
		`{"id": "1", "detail-type": "EC2 Fleet Information", "time": "2026-03-14T09:26:53Z", "detail": {}}`,
	} {
		event, err := events.Decode([]byte(text))
		if errors.Is(err, events.ErrUnknown) {
			fmt.Println("not ours:", err)
			continue
		}
		if err != nil {
			fmt.Println("broken:", err)
			continue
		}
		switch detail := event.Detail.(type) {
		case *events.SpotInterruption:
			fmt.Println(event.Time.Format("15:04:05"), detail.InstanceID, "goes:", detail.Action)
		default:
			fmt.Println("instances:", detail.Instances())
		}
	}
	// Output:
	// 09:26:53 i-0a1b2c3d4e5f60718 goes: terminate
	// not ours: decoding event: detail-type "EC2 Fleet Information": no such event is known
}
