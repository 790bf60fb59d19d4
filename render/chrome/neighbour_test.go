package chrome

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// attackTime is the minimum duration of the hostile jobs. With a longer one, every attack runs in every render
// mode.
var attackTime = flag.Duration("attack", usualAttack, "how long each attack of TestAttacksHurtNobodyElse goes on")

var (
	hostileTime = flag.Duration("hostile", 10*time.Second, "how long TestHostileHTML goes on")
	hostileSeed = flag.Uint64("hostile-seed", 0, "what TestHostileHTML makes its documents from; 0 takes a new one")
)

const (
	usualAttack = 3 * time.Second
	// neighbours is the minimum number of another account's documents to print during an
	// attack.
	neighbours = 5
	// neighbourWait is the time limit of each document of the other account. Each takes a third of a second on an
	// idle machine of two cores. A document that had to wait for the end of an attack would take longer than this.
	neighbourWait = time.Minute
	// attackDeadline ends an attack that nobody has ended.
	attackDeadline = 3 * neighbourWait
	// serverMemory bounds the growth of this process. It is generous because
	// the race detector multiplies what a program holds.
	serverMemory = 400 << 20
)

// TestAttacksHurtNobodyElse prints one account's small documents during another account's
// attack of each kind.
func TestAttacksHurtNobodyElse(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	for i, a := range sharedtest.Attacks() {
		for _, mode := range attackModes(a, i) {
			t.Run(a.Name+"/"+mode.String(), func(t *testing.T) { attack(t, p, a, mode) })
		}
	}
}

// attackModes returns the modes that a document is sent to: those that it can be
// in, or one of them.
func attackModes(a sharedtest.Attack, i int) []RenderMode {
	modes := []RenderMode{ModeRealm, ModeOnce}
	switch {
	case !strings.Contains(a.HTML, "<script"):
		return []RenderMode{ModeInline}
	case *attackTime > usualAttack:
		return modes
	}
	return modes[i%2 : i%2+1]
}

func attack(t *testing.T, p *Pool, a sharedtest.Attack, mode RenderMode) {
	t.Helper()
	alone := neighbour(t, p)
	before := peakMemory(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- strike(ctx, p, a, mode, attackDeadline) }()
	var worst time.Duration
	for n := 0; n < neighbours || time.Since(began) < *attackTime && len(done) == 0; n++ {
		worst = max(worst, neighbour(t, p))
	}
	leave() // as an attacker's client may
	err := <-done
	grown := peakMemory(t) - before
	t.Logf("neighbour waited %s at most, %s alone; server grew by %d MiB, the attack got: %v", worst.Round(time.Millisecond), alone.Round(time.Millisecond), grown>>20, err)
	if worst > neighbourWait {
		t.Errorf("the neighbour waited %s, want at most %s", worst, neighbourWait)
	}
	if grown > serverMemory {
		t.Errorf("the server grew by %d MiB, want at most %d", grown>>20, serverMemory>>20)
	}
	if err != nil && !ownFault(err) && !errors.Is(err, context.Canceled) {
		t.Errorf("the attack got %v, want an error that says what its document did", err)
	}
}

// neighbour prints a small document and returns how long that took.
func neighbour(t *testing.T, p *Pool) time.Duration {
	t.Helper()
	start := time.Now()
	doc, err := p.PDF(t.Context(), Job{Account: "neighbour", HTML: "<p>neighbour", Timeout: neighbourWait}, PDF{})
	if err != nil {
		t.Fatalf("the neighbour's document: %v", err)
	}
	if err := doc.Body.Close(); err != nil {
		t.Error(err)
	}
	return time.Since(start)
}

// strike does what the attacker's call does, within a deadline.
func strike(ctx context.Context, p *Pool, a sharedtest.Attack, mode RenderMode, deadline time.Duration) error {
	job := Job{Account: "attacker", RenderMode: mode, HTML: a.HTML, Timeout: deadline}
	if a.Screenshot {
		img, err := p.Screenshot(ctx, job, Screenshot{FullPage: true, MaxBytes: 200 << 20})
		if err == nil {
			err = img.Body.Close()
		}
		return err
	}
	doc, err := p.PDF(ctx, job, PDF{PrintBackground: true, MaxPages: 2000, MaxBytes: 200 << 20})
	if err == nil {
		err = doc.Body.Close()
	}
	return err
}

// ownFault reports whether the customer sees an error as the document's.
func ownFault(err error) bool {
	var load *LoadError
	var size *SizeError
	return errors.As(err, &size) || errors.Is(err, ErrTimeout) || errors.Is(err, ErrCrashed) || errors.Is(err, ErrTooLarge) || errors.As(err, &load)
}

// peakMemory returns the most that this process held since the last call.
func peakMemory(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// TestHostileHTML renders generated documents, and after each that the browsers
// still serve another account.
func TestHostileHTML(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	seed := *hostileSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	p := startPool(t, nil)
	for n, end := 0, time.Now().Add(*hostileTime); time.Now().Before(end); n++ {
		a := sharedtest.Attack{HTML: sharedtest.Generate(random), Screenshot: random.IntN(4) == 0}
		mode := ModeInline // It is not trusted: without a script there is nothing to hinder.
		if strings.Contains(a.HTML, "<script") {
			mode = RenderMode(1 + random.IntN(2))
		}
		err := strike(t.Context(), p, a, mode, usualAttack)
		if took := neighbour(t, p); (err != nil && !ownFault(err)) || took > neighbourWait {
			t.Errorf("document %d of seed %d in mode %s: %v; the neighbour waited %s: %.2000s", n, seed, mode, err, took, a.HTML)
		}
	}
}
