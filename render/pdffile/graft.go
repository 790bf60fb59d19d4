package pdffile

// Graft copies objects of other files into an update.
type Graft struct {
	from   *File
	to     *Update
	copies map[string]string
}

// NewGraft returns a graft that copies objects of a file.
func (u *Update) NewGraft(from *File) *Graft {
	return &Graft{from: from, to: u, copies: map[string]string{}}
}

// Copy returns a value of the other file as one of the updated file. All objects that it refers to are copied once.
func (g *Graft) Copy(v any) any {
	switch v := v.(type) {
	case string:
		if Reference(v) != "" {
			return g.object(v)
		}
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = g.Copy(item)
		}
		return items
	case Dict:
		entries := Dict{}
		for key, item := range v {
			entries[key] = g.Copy(item)
		}
		return entries
	}

	return v
}

// object copies an object and returns its new reference. An object that does not exist becomes null.
func (g *Graft) object(ref string) string {
	if copied := g.copies[ref]; copied != "" {
		return copied
	}
	copied := g.to.Reserve()
	g.copies[ref] = copied

	if stream, ok := g.from.Stream(ref); ok {
		entries, _ := g.Copy(Without(stream.Entries, "/Length")).(Dict)
		g.to.Set(copied, Stream{entries, stream.Content})
		return copied
	}
	g.to.Set(copied, g.Copy(g.from.Target(ref)))
	return copied
}
