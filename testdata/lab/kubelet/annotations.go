package kubelet

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The annotations of a pod say what the programs in its containers do. Such a key holds for all
// containers but init containers. With a dot and a container's name behind it, it holds for that
// container. Durations are Go durations. What cannot be read counts as absent.
const (
	// RunFor is the time from a container's start to its own end. Without it the container runs until
	// it is stopped, and an init container ends at once.
	RunFor = "local.whittle.dev/run-for"
	// ExitCode is the code of that end; 0 without it. A list such as 1,1,0 has the code of each run,
	// the last one for all further runs.
	ExitCode = "local.whittle.dev/exit-code"
	// AliveAfter is the time from a container's start to the first answer to startup and liveness
	// probes, and ReadyAfter to readiness probes; without it, AliveAfter holds for these too.
	AliveAfter = "local.whittle.dev/alive-after"
	ReadyAfter = "local.whittle.dev/ready-after"
	// UnhealthyAfter is the time from a container's start from which it fails its probes.
	UnhealthyAfter = "local.whittle.dev/unhealthy-after"
	// StopFor is the time from SIGTERM to the end, or Never for a container that ignores the signal.
	StopFor = "local.whittle.dev/stop-for"
	// ImageSize is the size of the image, such as 2Gi. A machine without the image pulls it first.
	ImageSize = "local.whittle.dev/image-size"
)

// Never is the value of StopFor of a container that ignores SIGTERM.
const Never = "never"

// pullRate is how many bytes of an image a machine pulls in a second: an assumption for images in
// ECR.
const pullRate = 64 << 20

// never is later than everything.
const never = 1000000 * time.Hour

// setting is the annotation of the key for the container.
func (c *container) setting(pod *corev1.Pod, key string) string {
	if len(pod.Annotations) == 0 {
		return ""
	}
	if value, found := pod.Annotations[key+"."+c.spec.Name]; found || c.role != regular {
		return value
	}
	return pod.Annotations[key]
}

// duration reads a duration; missing where there is none.
func (c *container) duration(pod *corev1.Pod, key string, missing time.Duration) time.Duration {
	text := c.setting(pod, key)
	if text == Never {
		return never
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d
	}
	return missing
}

// exitCode is the code of the container's own end in the run that has begun.
func (c *container) exitCode(pod *corev1.Pod) int32 {
	codes := strings.Split(c.setting(pod, ExitCode), ",")
	code, err := strconv.ParseInt(codes[min(c.runs-1, len(codes)-1)], 10, 32)
	if err != nil {
		return 0
	}
	return int32(code)
}

// pull is the time that the container's image takes to come.
func (c *container) pull(pod *corev1.Pod, missing time.Duration) time.Duration {
	size, err := resource.ParseQuantity(c.setting(pod, ImageSize))
	if err != nil {
		return missing
	}
	return time.Duration(float64(size.Value()) / pullRate * float64(time.Second))
}

// sleeps finds the sleeps of a shell command, in seconds, minutes or hours.
var sleeps = regexp.MustCompile(`\bsleep\s+([0-9]*\.?[0-9]+)([smh]?)`)

// preStop is how long the container's preStop hook takes. Hooks other than sleeps take no time.
func preStop(c *corev1.Container) time.Duration {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return 0
	}
	hook := c.Lifecycle.PreStop
	if hook.Sleep != nil {
		return time.Duration(hook.Sleep.Seconds) * time.Second
	}
	if hook.Exec == nil {
		return 0
	}
	var sum time.Duration
	for _, found := range sleeps.FindAllStringSubmatch(strings.Join(hook.Exec.Command, " "), -1) {
		unit := found[2]
		if unit == "" {
			unit = "s"
		}
		d, err := time.ParseDuration(found[1] + unit)
		if err == nil {
			sum += d
		}
	}
	return sum
}
