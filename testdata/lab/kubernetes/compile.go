package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// compile runs the go command for output and keeps report current.
func compile(ctx context.Context, source, modfile, version, output string, report *report) error {
	report.setStage("fetching modules")
	packages, err := goCommand(ctx, source, "list", "-mod=readonly", "-modfile", modfile, "-deps", ".").Output()
	if err != nil {
		return fmt.Errorf("listing packages: %w", withStandardError(err))
	}
	total := bytes.Count(packages, []byte("\n"))

	listing := &packageListing{}
	began := time.Now()
	report.setStageFunc(func() string {
		// Packages that the build cache has already are not listed, which shortens the time left.
		done := listing.count()
		if done == 0 {
			return "compiling"
		}
		left := time.Since(began) * time.Duration(total-done) / time.Duration(done)
		return fmt.Sprintf("compiling and linking, %d of up to %d packages, about %s left", done, total,
			left.Round(time.Minute))
	})
	command := goCommand(ctx, source, "build", "-v", "-mod=readonly", "-modfile", modfile, "-buildvcs=false", "-trimpath",
		"-ldflags", linkerFlags(version), "-o", output, ".")
	command.Stderr = listing
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("compiling: %w", ctx.Err())
		}
		return fmt.Errorf("compiling: %w: %s", err, listing.messages())
	}
	return nil
}

// linkerFlags drops the symbol tables and sets the version that the server reports. kubectl and
// other clients compare that version.
func linkerFlags(version string) string {
	major, minor := "", ""
	if parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3); len(parts) == 3 {
		major, minor = parts[0], parts[1]
	}
	flags := []string{"-s", "-w"}
	for _, target := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, value := range []string{
			"gitVersion=" + version, "gitMajor=" + major, "gitMinor=" + minor, "gitTreeState=clean",
		} {
			flags = append(flags, "-X", target+"."+value)
		}
	}
	return strings.Join(flags, " ")
}

// packageListing reads the output of "go build -v": a line for each compiled package, and the
// compiler's messages.
type packageListing struct {
	mutex    sync.Mutex
	partial  []byte
	packages int
	other    []string
}

// Write takes any piece of the output. It never fails.
func (p *packageListing) Write(piece []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.partial = append(p.partial, piece...)
	for {
		end := bytes.IndexByte(p.partial, '\n')
		if end < 0 {
			return len(piece), nil
		}
		line := string(p.partial[:end])
		p.partial = p.partial[end+1:]
		if strings.ContainsAny(line, " \t") {
			p.other = append(p.other, line)
		} else {
			p.packages++
		}
	}
}

func (p *packageListing) count() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.packages
}

// messages are the lines that are not package paths, which describe errors.
func (p *packageListing) messages() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return strings.Join(append(p.other, string(p.partial)), "\n")
}
