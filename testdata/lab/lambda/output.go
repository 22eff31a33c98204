package lambda

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// output reads a sandbox's standard output and error, which share one pipe as on Lambda, and passes
// on each line. sync waits until everything written so far has been passed on. So a line that was
// printed before an answer belongs to that answer's invocation.
type output struct {
	reader *os.File
	line   func(string)
	partly []byte
	done   chan struct{}

	mu      sync.Mutex
	waiting []chan struct{}
}

// longestLine is the size of a log event at CloudWatch Logs; longer lines are broken.
const longestLine = 256 << 10

func newOutput(reader *os.File, line func(string)) *output {
	return &output{reader: reader, line: line, done: make(chan struct{})}
}

// read runs until the pipe's last writer exits or close is called.
func (o *output) read() {
	defer close(o.done)
	defer func() { _ = o.reader.Close() }()
	connection, err := o.reader.SyscallConn()
	if err != nil {
		return
	}
	buffer := make([]byte, 64<<10)
	for ended := false; !ended; {
		err := connection.Read(func(descriptor uintptr) bool {
			for {
				n, err := syscall.Read(int(descriptor), buffer)
				switch {
				case n > 0:
					o.take(buffer[:n])
				case errors.Is(err, syscall.EINTR):
				case errors.Is(err, syscall.EAGAIN):
					// The pipe is empty, so those who wait for that may go on.
					o.release()
					return false
				default:
					ended = true
					return true
				}
			}
		})
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// sync woke the reader; without a deadline the next turn reads on.
			_ = o.reader.SetReadDeadline(time.Time{})
		} else if err != nil {
			ended = true
		}
	}
	if len(o.partly) > 0 {
		o.line(string(o.partly))
	}
	o.release()
}

func (o *output) take(data []byte) {
	o.partly = append(o.partly, data...)
	for {
		end := bytes.IndexByte(o.partly, '\n')
		if end < 0 {
			break
		}
		o.line(string(bytes.TrimSuffix(o.partly[:end], []byte("\r"))))
		o.partly = o.partly[end+1:]
	}
	for len(o.partly) > longestLine {
		o.line(string(o.partly[:longestLine]))
		o.partly = o.partly[longestLine:]
	}
}

func (o *output) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, waiter := range o.waiting {
		close(waiter)
	}
	o.waiting = nil
}

func (o *output) sync() {
	drained := make(chan struct{})
	o.mu.Lock()
	o.waiting = append(o.waiting, drained)
	o.mu.Unlock()
	_ = o.reader.SetReadDeadline(time.Unix(1, 0))
	select {
	case <-drained:
	case <-o.done:
	}
}

// close ends the reading after the pipe's current content, even if a grandchild keeps the pipe
// open.
func (o *output) close() {
	o.sync()
	_ = o.reader.Close()
	<-o.done
}
