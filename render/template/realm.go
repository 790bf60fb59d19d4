package template

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/dop251/goja"
	"golang.org/x/sys/unix"
)

// realm is one run of JavaScript: globals and built-in objects that nothing else
// shares.
type realm struct {
	vm *goja.Runtime
	// cause is the reason for which the realm was stopped.
	cause error
}

// guard stops a realm that has used its share of processor time, or when this process uses too much memory, until
// the returned function is called. It counts processor time, because a busy machine must not fail a template that
// an idle one renders; patience limits the rest.
func (r *realm) guard(ctx context.Context, within time.Duration, what string) (stop func()) {
	const timeoutFactor = 5
	ctx, cancel := context.WithTimeout(ctx, timeoutFactor*within)
	done := make(chan struct{})
	began := processorTime()

	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				if !errors.Is(ctx.Err(), context.Canceled) {
					r.vm.Interrupt(&LimitError{Message: fmt.Sprintf("%s exceeded its time limit of %s.", what, within)})
				}
				return
			case <-tick.C:
				if processorTime()-began > within {
					r.vm.Interrupt(&LimitError{Message: fmt.Sprintf("%s exceeded its time limit of %s.", what, within)})
					return
				}
				if full() {
					r.vm.Interrupt(&LimitError{Message: what + " exceeded its memory limit."})
					return
				}
			}
		}
	}()

	return func() {
		cancel()
		<-done
		r.vm.ClearInterrupt()
	}
}

// processorTime returns the processor time of this process, which does one job at a time.
func processorTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// full reports whether this process holds more than it may, garbage not counted.
func full() bool {
	if heap() <= maxHeap {
		return false
	}
	runtime.GC()
	return heap() > maxHeap
}

// heap returns the bytes of objects, dead ones that are not yet swept among them.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// try calls into the realm and turns exceptions into errors: the causes of interrupts and of Go's functions are
// returned unchanged.
func (r *realm) try(call func() (goja.Value, error)) (v goja.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			if thrown, ok := p.(error); ok {
				err = thrown
				return
			}
			panic(p)
		}
	}()

	v, err = call()
	if err != nil {
		return nil, r.reason(err)
	}
	return v, nil
}

// reason returns the reason why a realm was stopped from outside.
func (r *realm) reason(err error) error {
	var interrupted *goja.InterruptedError
	var deep *goja.StackOverflowError
	switch {
	case r.cause != nil:
		return r.cause
	case errors.As(err, &interrupted):
		if cause, ok := interrupted.Value().(error); ok {
			return cause
		}
	case errors.As(err, &deep):
		return &LimitError{Message: "The template is nested too deeply."}
	}
	return err
}

// stop ends the run with the given cause.
func (r *realm) stop(cause error) {
	r.cause = r.reason(cause)
	panic(r.vm.NewGoError(cause))
}

// thrown returns an exception of JavaScript as a fault with its position.
func thrown(err error) error {
	var exception *goja.Exception
	if !errors.As(err, &exception) {
		return err
	}

	fault := Fault{Message: exception.Value().String()}
	if object, ok := exception.Value().(*goja.Object); ok {
		if message := object.Get("message"); !missing(message) {
			fault.Message = message.String()
		}
		if line := object.Get("lineNumber"); !missing(line) {
			fault.Line = int(line.ToInteger())
			fault.Column = int(object.Get("column").ToInteger()) + 1
		}
	}

	if fault.Line > 0 {
		fault.Message = strings.TrimSuffix(fault.Message, fmt.Sprintf(" - %d:%d", fault.Line, fault.Column-1))
	}
	return &Error{Faults: []Fault{fault}}
}

// function returns the value of a program, which must be a function.
func function(vm *goja.Runtime, p *goja.Program) (goja.Callable, error) {
	v, err := vm.RunProgram(p)
	if err != nil {
		return nil, err
	}
	return callable(v)
}

// callable returns a value of our own JavaScript, to be called.
func callable(v goja.Value) (goja.Callable, error) {
	f, ok := goja.AssertFunction(v)
	if !ok {
		return nil, errors.New("template: a program of ours gives no function")
	}
	return f, nil
}

// handlebars runs one of Handlebars' halves and returns it.
func handlebars(vm *goja.Runtime, p *goja.Program) (goja.Value, error) {
	vm.SetMaxCallStackSize(maxCalls)
	if _, err := vm.RunProgram(p); err != nil {
		return nil, fmt.Errorf("start Handlebars.js: %w", err)
	}

	object, ok := vm.Get("Handlebars").(*goja.Object)
	if !ok {
		return nil, errors.New("start Handlebars.js: it is not there")
	}
	return object.Get("default"), nil
}
