package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/whittle-dev/whittle/testdata/peer/report"
)

// measure runs a function alone and says what it took of this process: wall time, cpu time of all
// threads, and heap allocations. The garbage of what ran before is collected first.
func measure(run func()) report.Cost {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := cpuTime(), time.Now()
	run()
	wall, used := time.Since(start), cpuTime()-cpu
	runtime.ReadMemStats(&after)
	return report.Cost{
		Wall:        wall,
		CPU:         used,
		Allocations: after.Mallocs - before.Mallocs,
		Bytes:       after.TotalAlloc - before.TotalAlloc,
	}
}

// measureMemory is measure with the most memory that the process has meanwhile. What it gives back
// before has to be fetched again while the function runs, so that takes longer.
func measureMemory(run func()) report.Cost {
	debug.FreeOSMemory()
	end, most := make(chan struct{}), make(chan uint64)
	go func() { most <- mostMemory(end) }()
	cost := measure(run)
	close(end)
	cost.Memory = <-most
	return cost
}

// mostMemory is the most memory in bytes that the process has of its system, all that lay in it
// before too, looked at often until the end.
func mostMemory(end <-chan struct{}) uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	most := uint64(0)
	for {
		metrics.Read(samples)
		most = max(most, samples[0].Value.Uint64()-samples[1].Value.Uint64())
		select {
		case <-end:
			return most
		case <-ticks.C:
		}
	}
}

// cpuTime is user and system time of the process so far. It cannot fail for the process itself.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
