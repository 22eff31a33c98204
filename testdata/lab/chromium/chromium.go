package chromium

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

const (
	// program is Debian's package and the executable in it.
	program = "chromium-headless-shell"
	// version is the one that the pages were last looked at with. Debian keeps a security
	// update only until the next: then the newest is taken.
	version = "156.0.8078.79-1~deb12u1"
	// font is the pages' font, so that they look the same on every machine.
	font = "fonts-inter"
)

// Browser is a Chromium that can be started.
type Browser struct {
	Executable string
	// Environment has the browser's additional variables.
	Environment []string
}

// Prepare returns the browser that CHROMIUM names, otherwise Debian's from the cache. It installs
// that one if it is missing, and prints its progress to out.
func Prepare(ctx context.Context, out io.Writer) (*Browser, error) {
	if named := os.Getenv("CHROMIUM"); named != "" {
		executable, err := exec.LookPath(named)
		if err != nil {
			return nil, fmt.Errorf("CHROMIUM names no program: %w", err)
		}
		return &Browser{Executable: executable}, nil
	}
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf(
				"no browser to test pages in: set CHROMIUM to a Chromium or Chrome; it is fetched by itself only where Debian's "+
					"packages can be: %w", err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(program + version + font + runtime.GOARCH))
	folder := filepath.Join(cache, "whittle", "chromium-"+hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(folder + ".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	complete := filepath.Join(folder, "complete")
	if _, err := os.Stat(complete); err == nil {
		return in(folder)
	}
	_, _ = fmt.Fprintf(out, "fetching Debian's headless Chromium (100 MB) into %s\n", folder)
	if err := os.RemoveAll(folder); err != nil {
		return nil, err
	}
	if err := fetch(ctx, folder, out); err != nil {
		return nil, fmt.Errorf("fetching a browser to test pages in (set CHROMIUM to one that is there to do without): %w",
			err)
	}
	browser, err := in(folder)
	if err != nil {
		return nil, err
	}
	if err := browser.start(ctx); err != nil {
		return nil, err
	}
	return browser, os.WriteFile(complete, nil, 0o644)
}

// fetch downloads the packages and unpacks them below the folder's root. The lists and
// archives of apt are the folder's own, so that no root is needed; its sources and keys
// are the machine's.
func fetch(ctx context.Context, folder string, out io.Writer) error {
	state, archives := filepath.Join(folder, "apt"), filepath.Join(folder, "archives")
	for _, made := range []string{
		filepath.Join(state, "lists", "partial"), filepath.Join(archives, "partial"), filepath.Join(folder, "root"),
	} {
		if err := os.MkdirAll(made, 0o755); err != nil {
			return err
		}
	}
	apt := func(arguments ...string) error {
		options := []string{
			"-o", "Dir::State=" + state, "-o", "Dir::State::status=/var/lib/dpkg/status", "-o", "Dir::Cache=" + state, "-o",
			"Dir::Cache::archives=" + archives,
			"-o", "Debug::NoLocking=true", "-o", "APT::Sandbox::User=root", "-o", "Dpkg::Use-Pty=0", "-qq",
		}
		return run(ctx, "apt-get", append(options, arguments...)...)
	}
	// A source of the machine's that does not answer need not be Debian's.
	updated := apt("update")
	download := []string{"install", "--download-only", "--yes", "--no-install-recommends", "--reinstall", font}
	err := apt(append(download, program+"="+version)...)
	if err != nil {
		_, _ = fmt.Fprintf(out, "Debian does not offer %s %s here: taking the newest\n", program, version)
		if newest := apt(append(download, program)...); newest != nil {
			return errors.Join(updated, err, newest)
		}
	}
	packages, err := filepath.Glob(filepath.Join(archives, "*.deb"))
	if err != nil {
		return err
	}
	for _, file := range packages {
		if err := run(ctx, "dpkg-deb", "-x", file, filepath.Join(folder, "root")); err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(archives), os.RemoveAll(state),
		os.WriteFile(filepath.Join(folder, "fonts.conf"), []byte(fontSettings(folder)), 0o644))
}

// in is the browser in a folder.
func in(folder string) (*Browser, error) {
	root := filepath.Join(folder, "root")
	var libraries []string
	err := filepath.WalkDir(filepath.Join(root, "usr", "lib"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.Contains(entry.Name(), ".so") && !slices.Contains(libraries, filepath.Dir(path)) {
			libraries = append(libraries, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Browser{
		Executable: filepath.Join(root, "usr", "lib", "chromium", program),
		Environment: []string{
			"LD_LIBRARY_PATH=" + strings.Join(libraries, ":"), "FONTCONFIG_FILE=" + filepath.Join(folder, "fonts.conf"),
		},
	}, nil
}

// start tries whether the browser starts, so that a library that it lacks is named here
// and not by a test.
func (b *Browser) start(ctx context.Context) error {
	command := exec.CommandContext(ctx, b.Executable, "--version")
	command.Env = append(os.Environ(), b.Environment...)
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not start: %w: %s", b.Executable, err, text)
	}
	return nil
}

func fontSettings(folder string) string {
	return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>` + filepath.Join(folder, "root", "usr", "share", "fonts") + `</dir>
  <cachedir>` + filepath.Join(folder, "fontcache") + `</cachedir>
</fontconfig>
`
}

// run runs a program with English messages. Its output is in the error.
func run(ctx context.Context, name string, arguments ...string) error {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(arguments, " "), err, text)
	}
	return nil
}

// lock keeps other processes from fetching the same.
func lock(file string) (unlock func(), err error) {
	held, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return func() { _ = held.Close() }, nil
}
