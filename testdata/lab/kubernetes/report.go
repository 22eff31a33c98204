package kubernetes

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// reportInterval is the longest time without a line of progress.
const reportInterval = 10 * time.Second

// report prints progress: lines as things happen, and one every reportInterval in between.
type report struct {
	output  io.Writer
	started time.Time
	done    chan struct{}
	ended   sync.WaitGroup

	mutex sync.Mutex
	stage func() string
}

// startReport starts with a stage that is printed only if it lasts. The caller closes the report.
func startReport(output io.Writer, stage string) *report {
	r := &report{output: output, started: time.Now(), done: make(chan struct{})}
	r.setStage(stage)
	r.ended.Go(func() {
		ticker := time.NewTicker(reportInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				r.say(r.current())
			case <-r.done:
				return
			}
		}
	})
	return r
}

func (r *report) setStage(stage string) {
	r.setStageFunc(func() string { return stage })
}

// setStageFunc sets the text of the next lines. The report may call the function at any time until
// it is closed.
func (r *report) setStageFunc(stage func() string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.stage = stage
}

func (r *report) current() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return fmt.Sprintf("%s, %s so far", r.stage(), time.Since(r.started).Round(time.Second))
}

// say writes one line. Progress that cannot be shown is no reason to fail.
func (r *report) say(line string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_, _ = fmt.Fprintf(r.output, "control plane: %s\n", line)
}

// close ends the report and returns once nothing more will be written.
func (r *report) close() {
	close(r.done)
	r.ended.Wait()
}
