package jobs_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// listenNoise returns messages that a server never sends to a listening connection: random bytes, truncated messages,
// and unrequested ones.
func listenNoise(seed uint64) (noise []byte) {
	random := rand.New(rand.NewPCG(seed, seed)) // the same at each run
	message := func(kind byte, body string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)
	}
	notification := message('A', "\x00\x00\x00\x01relaypdf_jobs\x00\x00")
	switch seed % 5 {
	case 0: // random from the start
		for range 20 + random.IntN(2000) {
			noise = append(noise, byte(random.IntN(256)))
		}
	case 1: // a notification that breaks off, within a message that has the right length
		noise = message('A', string(notification[5:5+random.IntN(len(notification)-5)]))
	case 2: // unrequested responses
		for _, kind := range random.Perm(6) {
			noise = append(noise, message("ZCDTnt"[kind], []string{"I", "SELECT 1\x00", "\x00\x00", "\x00\x00", "", "\x00\x00"}[kind])...)
		}
	case 3: // notifications of other channels, with and without text
		for range 50 {
			noise = append(noise, message('A', fmt.Sprintf("\x00\x00\x00\x01%x\x00%x\x00", random.Uint64(), random.Uint64()))...)
		}
	case 4: // lengths that cannot be
		noise = append([]byte{'A'}, 0xff, 0xff, 0xff, byte(random.IntN(256)), 'x')
	}
	return noise
}

// TestListeningSurvivesNoise sends anything to the connection on which a process listens:
// it listens again, and jobs are found.
func TestListeningSurvivesNoise(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	db, cutter := storetest.BehindCutter(t, storetest.Postgres(t))
	f := newFixture(t, db)
	found := make(chan struct{}, 1000)
	f.start(t, f.Store, 2, patience, func(ctx context.Context, job store.Job) {
		f.end(ctx, t, job)
		found <- struct{}{}
	})
	for seed := range uint64(10) {
		for deadline := time.Now().Add(patience); !cutter.Inject(listenNoise(seed)); <-time.After(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("noise %d: no connection listens", seed)
			}
		}
		f.enqueue(t)
		await(t, found, fmt.Sprintf("noise %d: a job", seed))
	}
}
