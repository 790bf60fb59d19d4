// Package plan divides a machine's memory and cores among what the service
// runs, so that a small machine does less at once instead of being killed.
package plan

import "runtime"

const (
	mib = 1 << 20
	gib = 1 << 30
)

// Machine is what there is to divide.
type Machine struct {
	Memory int64 // bytes
	Cores  int
}

// Plan says how much of each there may be. Sizes are in bytes. Bounds of single
// processes add up to more than the machine has: seldom are two of them
// reached at once, and the processes end one by one where they are.
type Plan struct {
	Machine Machine

	// RenderSlots is how many documents the browsers render at once.
	RenderSlots int
	// Browsers is how many may run, each for one account at a time; WarmPages how many pages they keep for accounts
	// that may come again, all together.
	Browsers, WarmPages int
	// BrowserMemory is what all processes of one browser may hold before it is
	// replaced, RendererMemory what one renderer may before it ends.
	BrowserMemory, RendererMemory int64
	// EngineSlots is how many jobs on files run at once; EngineMemory bounds each
	// process of such a job.
	EngineSlots  int
	EngineMemory int64
	// MarkupSlots is how many texts become documents at once, such as Markdown;
	// MarkupMemory bounds each.
	MarkupSlots  int
	MarkupMemory int64
	// OfficeSlots is how many office programs stay, OfficeMemory bounds each.
	OfficeSlots  int
	OfficeMemory int64
	// Background reports whether there is capacity for an additional browser and engine,
	// for unpaid work.
	Background bool
	// Decoding is what the bodies of all requests that are being read may take.
	Decoding int64
}

// Typical needs of one of each.
const (
	pageMemory     = 100 * mib // a warm page with its renderer
	browserBase    = gib       // of the machine's memory for each browser
	slotMemory     = 512 * mib // of the machine's memory for each render at once
	officeIdle     = 256 * mib // an office that waits
	pagesPerSlot   = 8         // more warm pages would only be looked through
	spareBrowsers  = 2         // in addition to one for each render: one for a new account, and one that rests
	backgroundFrom = 3 * gib   // of the machine's memory, of which a background takes some 200 MB
	partOfPages    = 4         // a quarter of the memory is for warm pages,
	partOfEngines  = 2         // half for what files need while they are worked on,
	partOfOffices  = 8         // an eighth for offices that wait,
	partOfBodies   = 16
)

// For returns the plan of a machine. Without memory or cores it takes those of
// this one.
func For(m Machine) Plan {
	if m.Memory <= 0 {
		m.Memory, _ = Memory()
	}
	if m.Cores <= 0 {
		m.Cores = runtime.NumCPU()
	}
	p := Plan{
		Machine:        m,
		RenderSlots:    clamp(int(m.Memory/slotMemory), 1, m.Cores),
		RendererMemory: clamp(m.Memory/4, 256*mib, 2*gib),
		EngineMemory:   clamp(m.Memory/4, 256*mib, gib),
		MarkupSlots:    clamp(m.Cores/2, 1, 4),
		MarkupMemory:   256 * mib,
		OfficeSlots:    clamp(int(m.Memory/partOfOffices/officeIdle), 1, m.Cores),
		OfficeMemory:   clamp(m.Memory/2, 768*mib, 1536*mib),
		Background:     m.Memory >= backgroundFrom,
		Decoding:       clamp(m.Memory/partOfBodies, 64*mib, gib),
	}
	p.WarmPages = clamp(int(m.Memory/partOfPages/pageMemory), 1, pagesPerSlot*p.RenderSlots)
	p.Browsers = clamp(int(m.Memory/browserBase), 1, p.RenderSlots+spareBrowsers)
	p.BrowserMemory = max(m.Memory/2/int64(min(p.Browsers, p.RenderSlots)), 512*mib)
	p.EngineSlots = clamp(int(m.Memory/partOfEngines/p.EngineMemory), 1, m.Cores)
	return p
}

// clamp returns n, at least least and at most most; the lower bound wins.
func clamp[N int | int64](n, least, most N) N { return max(least, min(n, most)) }
