package main

import (
	"runtime"
	"syscall"
	"time"

	"github.com/whittle-dev/whittle/testdata/peer/report"
)

// measure runs a function alone and says what it took of this process: wall time, cpu time of all threads, and heap allocations. The garbage of what ran
// before is collected first.
func measure(run func()) report.Cost {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := cpuTime(), time.Now()
	run()
	wall, used := time.Since(start), cpuTime()-cpu
	runtime.ReadMemStats(&after)
	return report.Cost{Wall: wall, CPU: used, Allocations: after.Mallocs - before.Mallocs, Bytes: after.TotalAlloc - before.TotalAlloc}
}

// cpuTime is user and system time of the process so far. It cannot fail for the process itself.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
