package office

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"relaypdf/render/engine"
	"relaypdf/render/spool"
)

// What a child may take. An office document is a compressed archive, of which
// much more is in memory.
const (
	officeMemory = 1536 << 20
	officeDisk   = 1 << 30
	// maxJobs is after how many documents an office is replaced: it loses some
	// memory with each.
	maxJobs = 200
	// lifeCPU bounds the processor time of an office's whole life. The time of
	// a job is bounded by its deadline.
	lifeCPU = 4 * time.Hour
	// maxTime bounds a job, and the start of an office.
	maxTime = 2 * time.Minute
	// queuePerSlot is how many may wait for each office.
	queuePerSlot = 16
	// maxWait is how long a document waits for an office at most.
	maxWait = 30 * time.Second
	// retryAfter is when to come back to a full queue.
	retryAfter = 5 * time.Second
)

// Config says how to run offices. Its zero value works.
type Config struct {
	// Engine is the configuration of the children: Command, Dir, User and
	// Logger. Size is the number of offices, one per core when it is 0. The
	// rest is this package's.
	Engine engine.Config
	// Queue is how many documents may wait; 0 means 16 per office.
	Queue int
}

// Pool runs a number of offices. It is safe for concurrent use.
type Pool struct {
	cfg   Config
	slots chan struct{}

	mu      sync.Mutex
	engines *engine.Pool // nil until it is needed
	closed  bool
	waiting int
	// held counts the documents of each tenant, waiting or under way.
	held map[string]int
}

// New returns a Pool whose offices start with Warm or with the first document.
func New(cfg Config) *Pool {
	if cfg.Engine.Size <= 0 {
		cfg.Engine.Size = runtime.NumCPU()
	}
	if cfg.Queue <= 0 {
		cfg.Queue = queuePerSlot * cfg.Engine.Size
	}
	e := &cfg.Engine
	e.Memory, e.Disk, e.CPU, e.MaxTime, e.MaxJobs = officeMemory, officeDisk, lifeCPU, maxTime, maxJobs
	e.Prepare = &engine.Job{Name: startJob}
	return &Pool{cfg: cfg, slots: make(chan struct{}, e.Size), held: map[string]int{}}
}

// Installed returns ErrUnavailable where the programs are missing.
func Installed() error {
	for _, name := range []string{officeProgram, workerProgram} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return nil
}

// Warm starts the offices in the background, where they are installed.
func (p *Pool) Warm() error {
	_, err := p.start()
	return err
}

// start returns the children, which it starts when there are none.
func (p *Pool) start() (*engine.Pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.engines != nil {
		return p.engines, nil
	}
	if err := Installed(); err != nil {
		return nil, err
	}
	engines, err := engine.Start(p.cfg.Engine)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	p.engines = engines
	return engines, nil
}

// Admit returns the *BusyError that Convert would return to a tenant at this
// moment, or nil.
func (p *Pool) Admit(tenant string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.room(tenant)
}

// room says whether there is a place for one more document of a tenant. Nobody
// gets more than half of the places, so that others always find one.
func (p *Pool) room(tenant string) error {
	share := max(1, (cap(p.slots)+p.cfg.Queue)/2)
	if len(p.slots) == cap(p.slots) && p.waiting >= p.cfg.Queue || p.held[tenant] >= share {
		return &BusyError{RetryAfter: retryAfter}
	}
	return nil
}

// Conversion is one document to convert.
type Conversion struct {
	// Tenant is whose document it is.
	Tenant   string
	Content  engine.Content
	Source   Source
	To       Target
	Password string // that opens the document
	// MaxPages and MaxBytes bound the result.
	MaxPages int
	MaxBytes int64
}

// Convert converts a document to PDF, DOCX, XLSX or HTML. The caller closes the
// result. A crash that may have had another cause than the document is
// tried again, once. Errors are *Error, *PairError, ErrBusy, ErrUnavailable,
// ErrClosed, engine.ErrOutputTooLarge and that of ctx, which bounds the wait
// and the conversion.
func (p *Pool) Convert(ctx context.Context, c Conversion) (*spool.File, Made, error) {
	if err := c.Source.Check(c.To); err != nil {
		return nil, Made{}, err
	}
	engines, err := p.start()
	if err != nil {
		return nil, Made{}, err
	}
	if err := p.acquire(ctx, c.Tenant); err != nil {
		return nil, Made{}, err
	}
	defer p.release(c.Tenant)
	job := engine.Job{
		Name:  convertJob,
		Args:  convertArgs{Source: c.Source, To: c.To, Password: c.Password, MaxPages: c.MaxPages},
		Files: []engine.File{{Name: inputName, Content: c.Content}}, MaxOutput: c.MaxBytes,
	}
	result, err := engines.Run(ctx, job)
	if errors.Is(err, engine.ErrCrashed) && ctx.Err() == nil {
		result, err = engines.Run(ctx, job)
	}
	if err != nil {
		return nil, Made{}, convertError(ctx, err)
	}
	var made Made
	if err := json.Unmarshal(result.Body, &made); err != nil {
		return nil, Made{}, errors.Join(err, result.Close())
	}
	return result.Output(0), made, nil
}

// convertError turns the errors of an engine into those of Convert.
func convertError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil && !errors.Is(err, engine.ErrKilled):
		return fmt.Errorf("%w: no office became ready: %w", ErrUnavailable, err)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return FromJob(err)
}

// acquire waits for a slot, which release gives back.
func (p *Pool) acquire(ctx context.Context, tenant string) error {
	p.mu.Lock()
	if err := p.room(tenant); err != nil {
		p.mu.Unlock()
		return err
	}
	p.held[tenant]++
	p.waiting++
	p.mu.Unlock()
	patience := time.NewTimer(maxWait)
	defer patience.Stop()
	var err error
	select {
	case p.slots <- struct{}{}:
	case <-patience.C:
		err = &BusyError{RetryAfter: retryAfter}
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	p.waiting--
	p.mu.Unlock()
	if err != nil {
		p.forget(tenant)
	}
	return err
}

func (p *Pool) release(tenant string) {
	p.forget(tenant)
	<-p.slots
}

// forget takes a document off a tenant's count.
func (p *Pool) forget(tenant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[tenant]--; p.held[tenant] == 0 {
		delete(p.held, tenant)
	}
}

// Close ends the offices and what they work on.
func (p *Pool) Close() error {
	p.mu.Lock()
	engines := p.engines
	p.closed = true
	p.mu.Unlock()
	if engines == nil {
		return nil
	}
	return engines.Close()
}
