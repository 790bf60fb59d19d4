package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Cache stands before a slow place and keeps copies of what is read and written in
// a folder of bounded size. A copy is verified by its own sums, and what is wrong
// with it costs time and nothing else. Processes may share the folder.
type Cache struct {
	Store // the slow place

	disk *disk
	most int64 // bytes of the folder
	log  *slog.Logger

	grown        atomic.Int64  // bytes since the folder was looked at
	full         chan struct{} // tells that it is to be looked at
	tidying      sync.Mutex
	hits, misses atomic.Int64
}

const (
	// A folder is looked at when it has grown by a part of its size, and then
	// emptied to keepParts of them; a copy has one of them at most. While it is looked
	// at, what would not fit is not kept. So it is never larger than it may be, but for
	// what is being written.
	cacheParts = 16
	keepParts  = 14
	// tidyBatch is how many copies are in memory at most, twice, while it is looked at.
	tidyBatch = 32 << 10
	// cacheBlock is what a file takes at least, and in multiples of it.
	cacheBlock = 4 << 10
	// pruneAge is how old a copy must be before it is asked whether its file is
	// there yet.
	pruneAge = 10 * time.Minute
	// pruneBatch is of how many copies that is asked at once.
	pruneBatch = 500
	// footSize is the end of a copy: the hash of the text of its sums, and how long
	// that text is.
	footSize = sha256.Size + 8
)

// NewCache puts a folder of at most that many bytes before a slow place. Copies that
// are there are read at once; new ones are kept when Run, or Tidy, has looked at the
// folder, which takes its time where there are many.
func NewCache(slow Store, dir string, most int64, log *slog.Logger) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the cache's folder: %w", err)
	}
	c := &Cache{Store: slow, disk: &disk{dir: dir}, most: most, log: log, full: make(chan struct{}, 1)}
	c.grown.Store(c.growth())
	return c, nil
}

// Unwrap returns the slow place.
func (c *Cache) Unwrap() Store { return c.Store }

// Hits counts opened blobs of which there was a copy.
func (c *Cache) Hits() int64 { return c.hits.Load() }

// Misses counts opened blobs of which there was none.
func (c *Cache) Misses() int64 { return c.misses.Load() }

// noted writes into the log what was wrong with a copy.
func (c *Cache) noted(what string, err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("cache of files failed", "at", what, "error", err)
	}
}

// Open returns the copy, or else the blob, of which it makes a copy while it is
// read from its beginning to its end.
func (c *Cache) Open(ctx context.Context, key string) (Content, int64, error) {
	if file, sums, err := c.find(key); err == nil {
		c.hits.Add(1)
		return NewContent(sums, &copied{cache: c, key: key, ctx: context.WithoutCancel(ctx), file: file, sums: sums}), sums.Size, nil
	} else if ValidKey(key) {
		c.noted("open", err)
	}
	c.misses.Add(1)
	slow, size, err := c.Store.Open(ctx, key)
	if err != nil || !c.fits(size) {
		return slow, size, err
	}
	return NewContent(Sums{Size: size, Chunk: sumChunk}, &copying{cache: c, key: key, slow: slow, size: size}), size, nil
}

func (c *Cache) fits(size int64) bool { return size <= c.most/cacheParts-footSize-cacheBlock }

// find opens a copy, and marks it as used.
func (c *Cache) find(key string) (*os.File, Sums, error) {
	path, err := c.disk.path(key)
	if err != nil {
		return nil, Sums{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, Sums{}, err
	}
	sums, err := readSums(file)
	if err != nil {
		err = errors.Join(err, file.Close(), os.Remove(path))
		return nil, Sums{}, err
	}
	now := time.Now()
	c.noted("mark", os.Chtimes(path, now, now))
	return file, sums, nil
}

// readSums reads the end of a copy.
func readSums(file *os.File) (Sums, error) {
	info, err := file.Stat()
	if err != nil {
		return Sums{}, err
	}
	foot := make([]byte, footSize)
	if _, err := file.ReadAt(foot, info.Size()-footSize); err != nil {
		return Sums{}, fmt.Errorf("%w: its end is missing", ErrDamaged)
	}
	length := int64(binary.BigEndian.Uint64(foot[sha256.Size:]))
	if length < 0 || length > info.Size()-footSize {
		return Sums{}, fmt.Errorf("%w: its end cannot be read", ErrDamaged)
	}
	text := make([]byte, length)
	if _, err := file.ReadAt(text, info.Size()-footSize-length); err != nil {
		return Sums{}, err
	}
	if hash := sha256.Sum256(text); !bytes.Equal(hash[:], foot[:sha256.Size]) {
		return Sums{}, fmt.Errorf("%w: its end was changed", ErrDamaged)
	}
	sums, err := ParseSums(string(text))
	if err == nil && sums.Size+length+footSize != info.Size() {
		err = fmt.Errorf("%w: it is not as long as it was", ErrDamaged)
	}
	return sums, err
}

// drop removes a copy, and reports whether it has gone.
func (c *Cache) drop(key string) (gone bool) {
	path, err := c.disk.path(key)
	if err == nil {
		err = os.Remove(path)
	}
	c.noted("remove", err)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// Delete removes the blob and its copy here. Copies of other machines go when
// they are pruned.
func (c *Cache) Delete(ctx context.Context, key string) error {
	err := c.Store.Delete(ctx, key)
	if ValidKey(key) {
		c.drop(key)
	}
	return err
}

// Put puts the blob into the slow place, and then keeps a copy. What can be read
// once only goes to the copy first.
func (c *Cache) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	if !ValidKey(key) {
		return c.Store.Put(ctx, key, r)
	}
	c.drop(key) // it may be of something else
	again, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return c.putStream(ctx, key, r)
	}
	from, err := again.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, fmt.Errorf("put blob: %w", err)
	}
	size, err := c.Store.Put(ctx, key, r)
	if err != nil || !c.fits(size) {
		return size, err
	}
	part := c.begin()
	part.copy(io.NewSectionReader(again, from, size))
	part.commit(key)
	return size, nil
}

// putStream writes what comes to a part, and where the disk does not take it, goes
// on without.
func (c *Cache) putStream(ctx context.Context, key string, r io.Reader) (int64, error) {
	part := c.begin()
	defer part.discard()
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		taken := part.size
		if n > 0 && !part.write(buffer[:n]) {
			return c.Store.Put(ctx, key, io.MultiReader(part.section(taken), newOnce(buffer[:n], err), r))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, fmt.Errorf("put blob: %w", err)
		}
	}
	size, err := c.Store.Put(ctx, key, part.section(part.size))
	if err == nil && c.fits(size) {
		part.commit(key)
	}
	return size, err
}

// once yields what was read already, and the error that came with it.
type once struct {
	rest []byte
	err  error
}

func newOnce(rest []byte, err error) io.Reader { return &once{rest, err} }

func (o *once) Read(p []byte) (int, error) {
	if len(o.rest) == 0 {
		if o.err != nil {
			return 0, o.err
		}
		return 0, io.EOF
	}
	n := copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// Sweep removes what writers left that have died, here and in the slow place.
func (c *Cache) Sweep(ctx context.Context) error {
	c.noted("sweep", c.disk.Sweep(ctx))
	return c.Store.Sweep(ctx)
}

// Prune removes copies of blobs that nobody knows any more: those that another
// machine has deleted. It is told of pruneBatch keys at a time which of them are known.
func (c *Cache) Prune(ctx context.Context, known func(ctx context.Context, keys []string) (map[string]bool, error)) error {
	batch := make([]string, 0, pruneBatch)
	look := func() error {
		if len(batch) == 0 {
			return nil
		}
		used, err := known(ctx, batch)
		if err != nil {
			return err
		}
		for _, key := range batch {
			if !used[key] {
				c.drop(key)
			}
		}
		batch = batch[:0]
		return nil
	}
	err := c.disk.List(ctx, "", func(e Entry) error {
		if time.Since(e.ModTime) < pruneAge {
			return nil
		}
		if batch = append(batch, e.Key); len(batch) < pruneBatch {
			return nil
		}
		return look()
	})
	if err != nil {
		return err
	}
	return look()
}

// Run keeps the folder within its size, until ctx ends.
func (c *Cache) Run(ctx context.Context) {
	c.noted("sweep", c.disk.Sweep(ctx))
	for {
		if c.crowded(c.grown.Load()) { // as at first
			c.Tidy(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.full:
		}
	}
}

// growth is how many bytes may be added after the folder was looked at.
func (c *Cache) growth() int64 { return c.most / cacheParts * (cacheParts - keepParts) }

// room counts what is to be added, asks for more room when that is much, and
// reports whether there is enough.
func (c *Cache) room(size int64) bool {
	for {
		before := c.grown.Load()
		grown := before + onDisk(size)
		fits := grown <= c.growth()
		if fits && !c.grown.CompareAndSwap(before, grown) {
			continue
		}
		if c.crowded(grown) {
			select {
			case c.full <- struct{}{}:
			default: // It is asked for already.
			}
		}
		return fits
	}
}

// crowded reports whether a folder that has grown so much is to be looked at.
func (c *Cache) crowded(grown int64) bool { return grown >= c.most/cacheParts }

func onDisk(size int64) int64 { return (size + cacheBlock - 1) / cacheBlock * cacheBlock }

// copyFile is a copy in its folder.
type copyFile struct {
	key  string
	size int64
	used time.Time
}

// Tidy removes what was not used for longest, where the folder is too full. Others
// may do so at the same time.
func (c *Cache) Tidy(ctx context.Context) {
	c.tidying.Lock()
	defer c.tidying.Unlock()
	before := c.grown.Load()
	for {
		oldest, total, err := c.oldest(ctx)
		if err != nil {
			if ctx.Err() == nil {
				c.noted("look", err)
			}
			return
		}
		removed := 0
		for _, f := range oldest {
			if total <= c.most/cacheParts*keepParts {
				break
			}
			if c.drop(f.key) {
				total -= f.size
				removed++
			}
		}
		// None goes from a folder that may only be read.
		if total <= c.most/cacheParts*keepParts || len(oldest) < tidyBatch || removed == 0 {
			break
		}
	}
	c.grown.Add(-before)
}

// oldest returns the copies that were not used for longest, tidyBatch of them at
// most, and the size of all.
func (c *Cache) oldest(ctx context.Context) (files []copyFile, total int64, err error) {
	byUse := func(a, b copyFile) int { return a.used.Compare(b.used) }
	err = c.disk.List(ctx, "", func(e Entry) error {
		files = append(files, copyFile{e.Key, onDisk(e.Size), e.ModTime})
		total += onDisk(e.Size)
		if len(files) == 2*tidyBatch {
			slices.SortFunc(files, byUse)
			files = files[:tidyBatch]
		}
		return nil
	})
	slices.SortFunc(files, byUse)
	return files[:min(len(files), tidyBatch)], total, err
}

// part is a copy that is being written. One that has failed takes nothing more.
type part struct {
	cache  *Cache
	file   *os.File // nil: it has failed, or is done with
	size   int64
	summer *Summer
}

func (c *Cache) begin() *part {
	p := &part{cache: c, summer: newSummer(sumChunk)}
	file, err := os.CreateTemp(c.disk.dir, partPrefix) // mode 0600
	if err == nil {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		p.file = file
	}
	if err != nil {
		c.noted("create", err)
		p.discard()
	}
	return p
}

// write reports whether the part took what it was given.
func (p *part) write(b []byte) bool {
	if p.file == nil {
		return false
	}
	if _, err := p.file.Write(b); err != nil {
		p.cache.noted("write", err)
		return false
	}
	_, _ = p.summer.Write(b)
	p.size += int64(len(b))
	return true
}

// section is the first bytes of the part.
func (p *part) section(size int64) *io.SectionReader {
	if p.file == nil {
		return io.NewSectionReader(nil, 0, 0)
	}
	return io.NewSectionReader(p.file, 0, size)
}

func (p *part) copy(r io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		if n > 0 && !p.write(buffer[:n]) {
			p.discard()
			return
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			p.cache.noted("copy", err)
			p.discard()
			return
		}
	}
}

// commit writes the sums and makes the part a copy.
func (p *part) commit(key string) {
	defer p.discard()
	if p.file == nil {
		return
	}
	if !p.cache.room(p.size + footSize) {
		return
	}
	path, err := p.cache.disk.path(key)
	if err == nil {
		if err = os.Mkdir(filepath.Dir(path), 0o700); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err == nil {
		text := []byte(p.summer.Sums().String())
		hash := sha256.Sum256(text)
		text = append(text, hash[:]...)
		text = binary.BigEndian.AppendUint64(text, uint64(len(text)-sha256.Size))
		_, err = p.file.Write(text)
	}
	if err == nil {
		err = os.Rename(p.file.Name(), path)
	}
	if err != nil {
		p.cache.noted("keep", err)
		return
	}
	p.cache.noted("close", p.file.Close())
	p.file = nil
}

// discard removes what has not become a copy.
func (p *part) discard() {
	if p.file == nil {
		return
	}
	p.cache.noted("discard", errors.Join(os.Remove(p.file.Name()), p.file.Close()))
	p.file = nil
}

// copied reads a copy, and goes to the slow place where that is damaged.
type copied struct {
	cache *Cache
	key   string
	ctx   context.Context //nolint:containedctx // of the slow place, should that be needed
	file  *os.File        // nil: it was damaged
	sums  Sums
	slow  Content
}

func (c *copied) Chunk(i int64, p []byte) (err error) {
	if c.file != nil {
		_, err := c.file.ReadAt(p, i*c.sums.Chunk)
		if err == nil && c.sums.match(i, p) {
			return nil
		}
		c.cache.noted("read", errors.Join(ErrDamaged, err, c.file.Close()))
		c.cache.drop(c.key)
		c.file = nil
	}
	if c.slow == nil {
		if c.slow, _, err = c.cache.Store.Open(c.ctx, c.key); err != nil {
			return err
		}
	}
	return readAll(c.slow, p, i*c.sums.Chunk)
}

func (c *copied) Close() (err error) {
	if c.file != nil {
		err = c.file.Close()
	}
	if c.slow != nil {
		err = errors.Join(err, c.slow.Close())
	}
	return err
}

// readAll fills p; the end is no error where it is full.
func readAll(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// copying reads the slow place, and keeps what comes in its order.
type copying struct {
	cache *Cache
	key   string
	slow  Content
	size  int64
	next  int64 // chunk that is kept next
	part  *part // nil before the first chunk
}

func (c *copying) Chunk(i int64, p []byte) error {
	if err := readAll(c.slow, p, i*sumChunk); err != nil {
		return err
	}
	if i != c.next {
		return nil
	}
	if i == 0 {
		c.part = c.cache.begin()
	}
	c.next++
	if !c.part.write(p) {
		c.part.discard()
	} else if c.next*sumChunk >= c.size {
		c.part.commit(c.key)
	}
	return nil
}

func (c *copying) Close() error {
	if c.part != nil {
		c.part.discard()
	}
	return c.slow.Close()
}
