package lambda

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// megabytesOfProcessor is the memory with which a function has one whole processor. Its share of
// processors grows with its memory.
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
const megabytesOfProcessor = 1769

// usage is what a process has used since its start.
type usage struct {
	processor time.Duration // of all its threads
	peakKB    int64         // the most memory that it had resident
}

// usage reads what the sandbox's process has used so far, or had used when it ended.
func (sb *sandbox) usage() usage {
	select {
	case <-sb.exited:
		return sb.used
	default:
	}
	used, err := usageOf(sb.command.Process.Pid)
	if err != nil && runtime.GOOS == "linux" {
		<-sb.exited // the process has just ended
		return sb.used
	}
	return used
}

// usageOf reads the usage of a running process. Only Linux tells it.
func usageOf(pid int) (usage, error) {
	if runtime.GOOS != "linux" {
		return usage{}, fmt.Errorf("%s does not tell the usage of process %d", runtime.GOOS, pid)
	}
	// Linux makes the clock's id of a process from its pid: MAKE_PROCESS_CPUCLOCK with CPUCLOCK_SCHED.
	const scheduled = 2
	var clock unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &clock); err != nil {
		return usage{}, fmt.Errorf("reading the processor time of process %d: %w", pid, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, err
	}
	_, peak, found := strings.Cut(string(status), "VmHWM:")
	if !found { // a process that has ended and that nobody has waited for
		return usage{}, fmt.Errorf("process %d has no memory", pid)
	}
	peak, _, _ = strings.Cut(strings.TrimSpace(peak), " ")
	kilobytes, err := strconv.ParseInt(peak, 10, 64)
	return usage{time.Duration(clock.Nano()), kilobytes}, err
}

// usageAtEnd is the usage of a process that ended. Darwin counts memory in bytes, others in
// kilobytes.
func usageAtEnd(state *os.ProcessState) usage {
	used := usage{processor: state.UserTime() + state.SystemTime()}
	if rusage, ok := state.SysUsage().(*syscall.Rusage); ok {
		used.peakKB = rusage.Maxrss
		if runtime.GOOS == "darwin" {
			used.peakKB /= 1024
		}
	}
	return used
}

// atShare returns the time that Lambda takes for what took elapsed here, processor of it on
// processors: waiting lasts as long as here, and computing as long as the function's share of
// processors requires. The processors of both count as equally fast.
func atShare(elapsed, processor time.Duration, memoryMB int) time.Duration {
	share := float64(memoryMB) / megabytesOfProcessor
	waiting := max(0, elapsed-processor)
	return max(elapsed, waiting+time.Duration(float64(processor)/share))
}

// exceeded reports whether the process has had more memory than the function's. Linux keeps the
// peak, so that no moment between two looks is missed.
func (sb *sandbox) exceeded() bool {
	return sb.usage().peakKB > int64(sb.configuration.MemoryMB)<<10
}

// endIfExceeded kills a process that has had more memory than the function's, as Lambda does, and
// returns the reason, "" where it has not.
func (sb *sandbox) endIfExceeded() string {
	if !sb.exceeded() {
		return ""
	}
	sb.kill()
	<-sb.exited
	return sb.exitReason
}
