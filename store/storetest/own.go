package storetest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Cluster is a PostgreSQL server of one test, which stops, freezes and starts again.
type Cluster struct {
	admin, dir string
	alive      io.WriteCloser
}

// OwnPostgres returns an empty database without tables on its own server, whose commits survive its processes.
func OwnPostgres(t testing.TB) (DB, *Cluster) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}

	c := own(t, strings.Replace(fleeting, "synchronous_commit=off", "synchronous_commit=on", 1))
	start := func() (server, error) { return server{admin: c.admin}, nil }
	address, _, err := newDatabase(start, nothing) // It is removed with the cluster.
	if err != nil {
		t.Fatal(err)
	}
	return DB{URL: address, DataDir: t.TempDir()}, c
}

// own starts a cluster that ends with the test.
func own(t testing.TB, settings string) *Cluster {
	t.Helper()
	c, err := newCluster(settings)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = c.Signal(syscall.SIGCONT)
		_ = c.alive.Close()
	})
	return c
}

// Order is "stop" or "start"; it is carried out soon.
func (c *Cluster) Order(order string) error {
	_, err := io.WriteString(c.alive, order+"\n")
	return err
}

// Signal sends a signal to all of the server's processes.
func (c *Cluster) Signal(how syscall.Signal) error {
	text, err := os.ReadFile(filepath.Join(c.dir, "data", "postmaster.pid"))
	if err != nil {
		return err
	}

	pid, _, _ := strings.Cut(string(text), "\n")
	children, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%s/children", pid, pid))
	if err != nil {
		return err
	}

	for _, field := range append([]string{pid}, strings.Fields(string(children))...) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		if err := syscall.Kill(n, how); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}
