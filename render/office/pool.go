package office

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/queue"
	"github.com/relaypdf/relaypdf/render/spool"
)

// Limits of a child. An office document is a compressed archive, and much larger in memory.
const (
	officeMemory = 1536 << 20 // default of the configuration
	officeDisk   = 1 << 30
	// maxJobs is the number of documents after which a LibreOffice process is replaced: it leaks some memory with
	// each.
	maxJobs = 200
	// lifeCPU is the maximum processor time of a LibreOffice process's whole life. The time of a job is limited by
	// its deadline.
	lifeCPU = 4 * time.Hour
	// maxTime limits the start of a LibreOffice process, convertTime a conversion.
	maxTime     = 2 * time.Minute
	convertTime = time.Minute
	// queuePerSlot is the maximum number of waiting documents per LibreOffice process.
	queuePerSlot = 16
)

// Config holds the settings of a pool. The zero value is valid.
type Config struct {
	// Engine is the configuration of the children: Command, Dir, User, Memory and Logger. Size is the number of
	// LibreOffice processes, one per core if it is 0. This package sets the rest.
	Engine engine.Config
	// Queue is the maximum number of waiting documents; 0 means 16 per LibreOffice process.
	Queue int
}

// Pool runs a number of LibreOffice processes. It is safe for concurrent use.
type Pool struct {
	cfg Config

	mu      sync.Mutex
	engines *engine.Pool // nil until it is needed
	closed  bool
}

// New returns a Pool whose LibreOffice processes start with Warm or with the first document.
func New(cfg Config) *Pool {
	if cfg.Engine.Size <= 0 {
		cfg.Engine.Size = runtime.NumCPU()
	}
	if cfg.Queue <= 0 {
		cfg.Queue = queuePerSlot * cfg.Engine.Size
	}

	e := &cfg.Engine
	e.Memory = cmp.Or(e.Memory, officeMemory)
	e.Disk = officeDisk
	e.CPU = lifeCPU
	e.MaxTime = maxTime
	e.MaxJobs = maxJobs
	e.Queue = cfg.Queue
	e.Prepare = &engine.Job{Name: startJob}
	return &Pool{cfg: cfg}
}

// installed returns ErrUnavailable if the programs are missing.
func installed() error {
	for _, name := range []string{officeProgram, workerProgram} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return nil
}

// Warm starts the LibreOffice processes in the background, if LibreOffice is installed.
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

	if err := installed(); err != nil {
		return nil, err
	}
	engines, err := engine.Start(p.cfg.Engine)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}

	p.engines = engines
	return engines, nil
}

// Admit returns the *queue.BusyError that Convert would return to an account at
// this moment, or nil.
func (p *Pool) Admit(account string) error {
	engines := p.started()
	if engines == nil {
		return nil
	}
	err := engines.Admit(account)
	if errors.Is(err, engine.ErrClosed) {
		return ErrClosed
	}
	return err
}

// started returns the children, or nil when there are none.
func (p *Pool) started() *engine.Pool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.engines
}

// Starting reports whether the first LibreOffice is being started.
func (p *Pool) Starting() bool {
	engines := p.started()
	return engines != nil && engines.Starting()
}

// Load returns how many documents are converted and wait.
func (p *Pool) Load() queue.State {
	if engines := p.started(); engines != nil {
		return engines.Load()
	}
	return queue.State{Slots: p.cfg.Engine.Size, Limit: p.cfg.Queue}
}

// PageSize is the width and the height of a page, in hundredths of a millimetre.
type PageSize [2]int

// Conversion is one document to convert.
type Conversion struct {
	// Account is the account of the document.
	Account string
	Content engine.Content
	Source  Source
	// Name is the document's file name, which its fields may print.
	Name     string
	To       Target
	Password string // that opens the document
	Print    Print  // how a PDF is made
	Results  Results
	// PageSizes are the sizes of a PDF's pages in order.
	PageSizes []PageSize
	// Linked maps the URLs of images that a Word document links to, to their names among Files; empty means
	// missing.
	Linked map[string]string
	Files  []engine.File
	// MaxPages and MaxBytes bound the result.
	MaxPages int
	MaxBytes int64
	// Observe is engine.Job's.
	Observe func(step string, took time.Duration)
}

// Convert converts a document to PDF, DOCX, XLSX or HTML. The caller closes the result. A crash that may have had
// another cause than the document is tried again, once. If Made.Missing is not empty, the file is nil. Errors are
// *Error, *PairError, *queue.BusyError, *engine.TimeoutError, ErrUnavailable, ErrClosed, engine.ErrOutputTooLarge
// and the error of ctx.
func (p *Pool) Convert(ctx context.Context, c Conversion) (*spool.File, ConvertReport, error) {
	if err := c.Source.Check(c.To); err != nil {
		return nil, ConvertReport{}, err
	}

	engines, err := p.start()
	if err != nil {
		return nil, ConvertReport{}, err
	}

	job := engine.Job{
		Name:      convertJob,
		Account:   c.Account,
		Time:      convertTime,
		Retry:     true,
		Observe:   c.Observe,
		Files:     append([]engine.File{{Name: inputName, Content: c.Content}}, c.Files...),
		MaxOutput: c.MaxBytes,
		Args: convertArgs{
			Source:    c.Source,
			Name:      c.Name,
			Results:   c.Results,
			To:        c.To,
			Password:  c.Password,
			MaxPages:  c.MaxPages,
			Print:     c.Print,
			PageSizes: c.PageSizes,
			Linked:    c.Linked,
		},
	}
	result, err := engines.Run(ctx, job)
	if err != nil {
		return nil, ConvertReport{}, convertError(ctx, err)
	}

	var report ConvertReport
	err = json.Unmarshal(result.Body, &report)
	if err == nil && len(report.Missing) > 0 && c.Linked == nil {
		return nil, report, result.Close()
	}
	if err != nil || len(result.Files) != 1 {
		crashed := fmt.Errorf("%w: it answered %.100q and %d files", engine.ErrCrashed, result.Body, len(result.Files))
		return nil, ConvertReport{}, convertError(ctx, errors.Join(crashed, err, result.Close()))
	}

	return result.Output(0), report, nil
}

// convertError turns the errors of an engine into those of Convert.
func convertError(ctx context.Context, err error) error {
	var late *engine.TimeoutError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &late):
		return late
	case errors.Is(err, queue.ErrBusy):
		return err
	}
	return FromJob(err)
}

// Close stops the LibreOffice processes and their jobs.
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
