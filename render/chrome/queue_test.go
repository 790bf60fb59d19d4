package chrome

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hold takes a slot in the background and reports on the returned channel when
// it has it; the slot is given back when release is closed.
func hold(q *queue, tenant string, release <-chan struct{}) <-chan error {
	got := make(chan error, 1)
	go func() {
		done, err := q.acquire(context.Background(), tenant)
		got <- err
		if err == nil {
			<-release
			done()
		}
	}()
	return got
}

func TestQueueServesTenantsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 100, time.Now)
		first, err := q.acquire(t.Context(), "heavy")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan string, 8)
		for _, tenant := range strings.Split("heavy heavy heavy light1 light2 light1", " ") {
			go func() {
				done, err := q.acquire(context.Background(), tenant)
				if err != nil {
					t.Error(err)
					return
				}
				served <- tenant
				done()
			}()
			synctest.Wait() // Until it stands in line.
		}
		first()
		synctest.Wait()
		close(served)
		var order []string
		for name := range served {
			order = append(order, name)
		}
		want := "heavy light1 light2 heavy light1 heavy"
		if got := strings.Join(order, " "); got != want {
			t.Errorf("served %s, want %s", got, want)
		}
	})
}

func TestNobodyHoldsEverySlotWhileOthersAreActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(3, 100, time.Now)
		release := make(chan struct{})
		defer func() { close(release); synctest.Wait() }()
		count := func(tenant string, n int) (got int) {
			var waits []<-chan error
			for range n {
				waits = append(waits, hold(q, tenant, release))
			}
			synctest.Wait()
			for _, w := range waits {
				got += len(w)
			}
			return got
		}
		done, err := q.acquire(t.Context(), "light")
		if err != nil {
			t.Fatal(err)
		}
		done()
		if got := count("heavy", 5); got != 2 {
			t.Errorf("with another tenant active, heavy holds %d of 3 slots, want 2", got)
		}
		if got := count("light", 1); got != 1 {
			t.Errorf("light holds %d slots, want 1 at once", got)
		}
	})
}

func TestOneTenantAloneHoldsEverySlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2, 100, time.Now)
		done, err := q.acquire(t.Context(), "light")
		if err != nil {
			t.Fatal(err)
		}
		done()
		time.Sleep(recently) //nolint:forbidigo // The bubble's own clock; light is forgotten now.
		release := make(chan struct{})
		one, two := hold(q, "heavy", release), hold(q, "heavy", release)
		synctest.Wait()
		if len(one)+len(two) != 2 {
			t.Errorf("heavy holds %d of 2 slots a minute after the other, want 2", len(one)+len(two))
		}
		close(release)
	})
}

func TestOneTenantsLineIsShortWhileOthersHaveJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 100, time.Now)
		release := make(chan struct{})
		defer func() { close(release); synctest.Wait() }()
		light := hold(q, "light", release)
		synctest.Wait()
		var heavy []<-chan error
		for range 4 * crowdedPerSlot {
			heavy = append(heavy, hold(q, "heavy", release))
			synctest.Wait()
		}
		for i, got := range heavy {
			if turnedAway := len(got) == 1; turnedAway != (i >= crowdedPerSlot) {
				t.Errorf("heavy's job %d beside another tenant: turned away %t", i+1, turnedAway)
			}
		}
		if err := q.admit("heavy"); !errors.Is(err, ErrBusy) {
			t.Errorf("another job of heavy: %v, want ErrBusy", err)
		}
		if err := q.admit("light"); err != nil {
			t.Errorf("another job of light: %v, want a place", err)
		}
		if err := <-light; err != nil {
			t.Error(err)
		}
	})
}

func TestTenantsShareTheWait(t *testing.T) {
	for tenants, want := range map[int]int{2: crowdedPerSlot, 3: 4, 6: leastLine, 20: leastLine} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(1, 1000, time.Now)
			release := make(chan struct{})
			defer func() { close(release); synctest.Wait() }()
			hold(q, "running", release)
			synctest.Wait()
			lines := map[string]int{}
			for range 2 * crowdedPerSlot {
				for i := range tenants {
					name := strconv.Itoa(i)
					got := hold(q, name, release)
					synctest.Wait()
					if len(got) == 0 {
						lines[name]++
					}
				}
			}
			for name, waiting := range lines {
				if waiting != want {
					t.Errorf("tenant %s of %d has %d jobs waiting, want %d", name, tenants, waiting, want)
				}
			}
			if err := q.admit("newcomer"); err != nil {
				t.Errorf("a newcomer among %d: %v, want a place", tenants, err)
			}
		})
	}
}

func TestOneTenantAloneFillsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 4 * crowdedPerSlot
		q := newQueue(1, limit, time.Now)
		release := make(chan struct{})
		defer func() { close(release); synctest.Wait() }()
		hold(q, "heavy", release)
		synctest.Wait()
		for i := range limit {
			if err := q.admit("heavy"); err != nil {
				t.Errorf("job %d of a tenant alone: %v before it came", i+1, err)
			}
			got := hold(q, "heavy", release)
			synctest.Wait()
			if len(got) != 0 {
				t.Fatalf("job %d of a tenant alone: %v, want it to wait", i+1, <-got)
			}
		}
		if err := q.admit("heavy"); !errors.Is(err, ErrBusy) {
			t.Errorf("a job of a tenant that fills the queue: %v, want ErrBusy", err)
		}
		if err := q.admit("light"); err != nil {
			t.Errorf("a job of another tenant: %v, want a place", err)
		}
	})
}

func TestFullQueueTurnsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 2, time.Now)
		release := make(chan struct{})
		first := hold(q, "heavy", release)
		synctest.Wait()
		time.Sleep(10 * time.Second) //nolint:forbidigo // The bubble's own clock.
		var heavy []<-chan error
		for range 2 {
			heavy = append(heavy, hold(q, "heavy", release))
			synctest.Wait()
		}
		var busy *BusyError
		if err := <-hold(q, "heavy", release); !errors.As(err, &busy) || !errors.Is(err, ErrBusy) {
			t.Errorf("a third waiting job: %v, want ErrBusy", err)
		}
		// A tenant with a shorter line takes the place of the newest of the longest.
		light := hold(q, "light", release)
		synctest.Wait()
		if err := <-heavy[1]; !errors.As(err, &busy) {
			t.Errorf("the newest job of the longest line: %v, want ErrBusy", err)
		}
		if len(heavy[0])+len(light) != 0 {
			t.Error("a job that should wait was answered")
		}
		close(release)
		for _, got := range []<-chan error{first, heavy[0], light} {
			if err := <-got; err != nil {
				t.Errorf("a job that may wait: %v", err)
			}
		}
	})
}

func TestRetryAfterFollowsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2, 5, time.Now)
		retry := func() time.Duration {
			var busy *BusyError
			if err := q.busyError(); !errors.As(err, &busy) {
				t.Fatal(err)
			}
			return busy.RetryAfter
		}
		if got := retry(); got != time.Second {
			t.Errorf("without experience: %s, want 1s", got)
		}
		done, err := q.acquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Second) //nolint:forbidigo // The bubble's own clock.
		done()
		if got := retry(); got != 4*time.Second {
			t.Errorf("one job of 7 s on two slots: %s, want 4s", got)
		}
	})
}

func TestLeavingTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 5, time.Now)
		done, err := q.acquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := q.acquire(ctx, "b")
			left <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled wait: %v", err)
		}
		if busy, waiting := q.load(); busy != 1 || waiting != 0 {
			t.Errorf("%d busy, %d waiting, want 1 and 0", busy, waiting)
		}
		waits := hold(q, "c", nil)
		synctest.Wait()
		q.close()
		if err := <-waits; !errors.Is(err, ErrClosed) {
			t.Errorf("waiting while the queue closes: %v, want ErrClosed", err)
		}
		done()
		if _, err := q.acquire(t.Context(), "a"); !errors.Is(err, ErrClosed) {
			t.Errorf("after close: %v, want ErrClosed", err)
		}
	})
}
