// Package engine runs work on untrusted bytes in child processes, so that a crash, an endless loop or a bomb costs
// one request and nothing else.
//
// A Pool keeps a few children warm. Each is the same executable started again (`relaypdf engine`), confines itself
// before it reads its first job, and runs one job at a time over a pipe. If it misbehaves, it is killed with
// everything it started, and replaced.
//
// A child has its own file system, process table and network. It runs as an unprivileged user under Landlock and a
// filter of system calls, with limits on memory, processor time, processes and files. The programs that a handler
// starts inherit all of it. Pool.Protections reports the protections that the kernel or the rights of the server do
// not permit; see confine.go.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relaypdf/relaypdf/render/queue"
	"github.com/relaypdf/relaypdf/render/spool"
)

// Config holds the settings of a Pool. The zero value is usable in the relaypdf executable itself.
type Config struct {
	// Command starts a child. Default: this executable with the argument "engine", reached through the kernel, so
	// that it works even if the file has been replaced or only root may read its folder.
	Command []string
	// Size is the number of jobs at once. Default: one per core.
	Size int
	// Extra is the maximum number of jobs above Size, each of an account that has no other; see queue.Config. There
	// is a child for each, which starts with the pool's first job.
	Extra int
	// Queue is the maximum number of waiting jobs. Default: 32 for each of Size.
	Queue int
	// Dir holds the pool's folder, and that the children's: each 0700 and emptied after
	// every job. Files that a killed server left in Dir are removed at the next start.
	// Default: the system's temporary folder.
	Dir string
	// User is the system user of the children when this process is root. Default: "relaypdf", or "nobody" if that
	// user is unknown. Children of any other user keep that user.
	User string
	// MaxJobs is after how many jobs a child is replaced. Default: 1000.
	MaxJobs int
	// MaxTime is the time limit of a job that names none, or a longer one. Default: five minutes.
	MaxTime time.Duration
	// Memory is the memory limit of each process of a child in bytes. Default: 1 GiB.
	Memory int64
	// MaxMemory is the maximum that a job may request instead. Default: Memory.
	MaxMemory int64
	// Disk is the maximum number of bytes of files of a child: inputs, outputs and intermediate files. Where
	// possible they are in memory. Default: 1 GiB.
	Disk int64
	// CPU is the processor time of each process in one job, in whole seconds.
	// Default: MaxTime.
	CPU time.Duration
	// Background restricts children and their programs to a few of the processors, and to a tenth of a processor
	// that other browsers and engines want at the same time.
	Background bool
	// Fonts configures how programs find fonts. Default: the system's configuration.
	Fonts Fonts
	// Prepare is a job that every child does before others, such as to start daemons. A child whose Prepare fails
	// cannot start.
	Prepare *Job
	// Logger receives crashes. Default: none.
	Logger *slog.Logger
}

// Fonts is a configuration of fontconfig.
type Fonts struct {
	// File is its file, and Config the text of it, for children that do not see
	// that file. Empty means the system's.
	File   string `json:"file,omitempty"`
	Config string `json:"config,omitempty"`
	// Folder holds fonts in addition to the system's. Children with a file system of their
	// own see it as OwnFonts. Empty means none.
	Folder string `json:"folder,omitempty"`
}

// OwnFonts is the path of Fonts.Folder in children with their own file system.
const OwnFonts = "/own-fonts"

// privateFonts is the path of Fonts.Config in such children.
const privateFonts = "/fonts.conf"

// folderPrefix names the pools' folders.
const folderPrefix = "relaypdf-engine-"

// Pool is a set of warm children. It is safe for concurrent use.
type Pool struct {
	cfg Config
	id  identity
	// spawner starts every child and lives as long as the pool.
	spawner *thread
	folder  *spool.Folder
	queue   *queue.Queue
	jobs    chan *request
	// used is closed by the first job, even while no child is ready.
	used     chan struct{}
	firstJob sync.Once
	once     sync.Once
	workers  sync.WaitGroup
	// ctx is the pool's life: it ends with Close, and with it everything that
	// a worker waits for.
	ctx    context.Context
	cancel context.CancelCauseFunc

	// isolations are the ways to start a child that may still work.
	isolations atomic.Pointer[[]isolation]
	// protections may be read once reported is closed.
	protections []Protection
	reported    chan struct{}
	firstReport sync.Once
	// failures gets the first failed starts of children.
	failures chan error
	// began is set when the first start of a child has ended, its Prepare included.
	began atomic.Bool
}

// request is a job on its way to a worker, which always answers it.
type request struct {
	ctx    context.Context
	late   *TimeoutError // the cause of the job's own deadline
	job    Job
	header jobHeader
	reply  chan outcome
	began  time.Time
	fresh  bool // it is for a child that has done nothing before
}

type outcome struct {
	result Result
	err    error
}

// Start returns a pool whose children start in the background. It fails only
// when the configuration cannot work.
func Start(cfg Config) (*Pool, error) {
	cfg = cfg.withDefaults()
	id, err := lookupIdentity(cfg)
	if err != nil {
		return nil, err
	}

	dir, err := spool.OpenFolder(cfg.Dir, folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("engine: folder for jobs: %w", err)
	}

	spawner := newThread()
	if err := spawner.do(cfg.settle); err != nil {
		spawner.close()
		return nil, errors.Join(err, dir.Close())
	}

	p := &Pool{
		cfg:      cfg,
		id:       id,
		spawner:  spawner,
		folder:   dir,
		jobs:     make(chan *request),
		used:     make(chan struct{}),
		reported: make(chan struct{}),
		queue:    queue.New(queue.Config{Slots: cfg.Size, Extra: cfg.Extra, Limit: cfg.Queue}),
		failures: make(chan error, startAttempts),
	}
	ways := isolations(os.Geteuid() == 0)
	p.isolations.Store(&ways)
	p.ctx, p.cancel = context.WithCancelCause(context.Background())

	for i := range cfg.Size + cfg.Extra {
		w := worker{pool: p, pause: minPause, spare: i >= cfg.Size}
		p.workers.Go(w.run)
	}
	return p, nil
}

// Run does a job and returns its result. It waits for a slot until ctx ends. The job's own time begins when a child
// starts it, and a job that exceeds it is killed. Errors are a *queue.BusyError, ErrKilled (with a *TimeoutError if it
// was the job's own time), ErrCrashed, ErrUnavailable (also if it hung twice), ErrTooLarge, ErrClosed, a *JobError, the
// error of reading an input, or the context's if the job never began.
func (p *Pool) Run(ctx context.Context, job Job) (Result, error) {
	if job.Time <= 0 || job.Time > p.cfg.MaxTime {
		job.Time = p.cfg.MaxTime
	}

	began := time.Now()
	slot, err := p.queue.Acquire(ctx, job.Account)
	switch {
	case errors.Is(err, queue.ErrClosed):
		return Result{}, ErrClosed
	case err != nil && ctx.Err() != nil:
		return Result{}, waiting(ctx)
	case err != nil:
		return Result{}, err
	}

	start := time.Now()
	job.observe(stepQueue, start.Sub(began))
	result, err := p.try(ctx, job, false)
	crashed := job.Retry && errors.Is(err, ErrCrashed) && !errors.Is(err, ErrOutOfMemory)
	if (crashed || errors.Is(err, ErrHung)) && ctx.Err() == nil {
		result, err = p.try(ctx, job, true)
	}

	var late *TimeoutError
	own := errors.As(err, &late)
	took := time.Since(start)
	// Leaving shortly before the deadline does not make it another's fault.
	left := ctx.Err() != nil && took > job.Time/2
	failed := ctx.Err() == nil && err != nil && took > queue.HeavyFailure && !errors.Is(err, ErrUnavailable)
	slot.Release(own || left || failed)

	if own {
		late.Slowed = p.queue.Slowed(job.Account)
	}
	return result, err
}

// try gives a job to a child; to a new one if fresh is true.
func (p *Pool) try(ctx context.Context, job Job, fresh bool) (Result, error) {
	r, err := newRequest(job)
	if err != nil {
		return Result{}, err
	}

	// In addition to the job's own time, a child may have to be started.
	ctx, cancel := context.WithTimeoutCause(ctx, job.Time+p.cfg.startTime(), errNotReady)
	defer cancel()
	r.ctx = ctx
	r.began = time.Now()
	r.fresh = fresh

	p.firstJob.Do(func() { close(p.used) })
	select {
	case p.jobs <- r:
	case <-p.ctx.Done():
		return Result{}, ErrClosed
	case <-ctx.Done():
		return Result{}, waiting(ctx)
	}

	got := <-r.reply
	return got.result, got.err
}

// errNotReady is the cause of a wait for a child that took too long.
var errNotReady = fmt.Errorf("%w: none became ready in time", ErrUnavailable)

// startTime bounds the start of a child with all that it does first.
func (c Config) startTime() time.Duration {
	if c.Prepare != nil {
		return startTime + c.MaxTime
	}
	return startTime
}

// Admit returns the *queue.BusyError with which a job of an account would be
// turned away now, ErrClosed, or nil.
func (p *Pool) Admit(account string) error {
	err := p.queue.Admit(account)
	if errors.Is(err, queue.ErrClosed) {
		return ErrClosed
	}
	return err
}

// Load returns how many jobs run and wait.
func (p *Pool) Load() queue.State { return p.queue.State() }

// Do is Run for jobs whose whole result is the handler's body.
func (p *Pool) Do(ctx context.Context, job Job) ([]byte, error) {
	result, err := p.Run(ctx, job)
	return result.Body, errors.Join(err, result.Close())
}

// Close kills every child, answers running jobs with ErrKilled and returns when nothing of the pool is left. Its
// error is that of removing the folder. Further calls do nothing.
func (p *Pool) Close() (err error) {
	p.once.Do(func() {
		p.queue.Close()
		p.cancel(ErrClosed)
		p.workers.Wait()
		p.spawner.close()
		err = p.folder.Close()
	})
	return err
}

// Command returns the command of Config.Command, or its default.
func Command(configured []string) []string {
	if len(configured) == 0 {
		return []string{"/proc/self/exe", "engine"}
	}
	return configured
}

func (c Config) withDefaults() Config {
	c.Command = Command(c.Command)
	if c.Size <= 0 {
		c.Size = runtime.NumCPU()
	}
	if c.Dir == "" {
		c.Dir = os.TempDir()
	}

	if c.MaxJobs <= 0 {
		c.MaxJobs = 1000
	}
	if c.MaxTime <= 0 {
		c.MaxTime = 5 * time.Minute
	}
	if c.Memory <= 0 {
		c.Memory = 1 << 30
	}
	c.MaxMemory = max(c.MaxMemory, c.Memory)
	if c.Disk <= 0 {
		c.Disk = 1 << 30
	}
	if c.CPU <= 0 {
		c.CPU = c.MaxTime
	}

	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// identity is the user a child becomes. The zero value means that it stays
// who it is.
type identity struct {
	Name string `json:"name,omitempty"`
	UID  int    `json:"uid,omitempty"`
	GID  int    `json:"gid,omitempty"`
}

// lookupIdentity finds the unprivileged user when this process is root.
func lookupIdentity(cfg Config) (identity, error) {
	if os.Geteuid() != 0 {
		return identity{}, nil
	}

	names := []string{cfg.User, "relaypdf", "nobody"}
	for _, name := range names {
		u, err := user.Lookup(name)
		if name == "" || err != nil {
			continue
		}

		uid, errUID := strconv.Atoi(u.Uid)
		gid, errGID := strconv.Atoi(u.Gid)
		if errUID != nil || errGID != nil || uid == 0 {
			continue
		}
		if cfg.User != "" && name != cfg.User {
			cfg.Logger.Warn("engine user not found, using another", "user", cfg.User, "instead", name)
		}
		return identity{Name: name, UID: uid, GID: gid}, nil
	}

	return identity{}, fmt.Errorf("engine: no unprivileged user to run as; create one named relaypdf (tried %q)", names)
}
