package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The library walks all pages of a file when it opens it, in a goroutine of its own, whose
// panic over a damaged page nobody can recover: the process would end without a word of
// which file it was. So they are looked at before. A page begins with its number (u64), what
// it is (u16), how many elements it has (u16), and how many pages follow that belong to it
// (u32). An element of a branch has the position of its key from the element's own (u32),
// the key's length (u32), and the number of the page below (u64); one of a leaf has flags,
// the position, and the lengths of key and value (u32 each).
const (
	boltBranch       = 1
	boltLeaf         = 2
	boltElementBytes = 16
	boltBucketBytes  = 16 // of a bucket in a leaf: the number of its root page, and a counter
	boltOffsetRoot   = 16 // u64, in the head of the file: page of the root bucket
	boltOffsetTx     = 48 // u64, in the head of the file
)

// boltPages walks the pages of a file.
type boltPages struct {
	file    io.ReaderAt
	size    int64  // of a page
	end     uint64 // first page that is not in use
	visited map[uint64]bool
}

// boltPage is a page with those that follow and belong to it.
type boltPage struct {
	*boltPages
	number  uint64
	kind    uint16
	count   int
	extent  int64  // bytes
	content []byte // what was read of it: the elements, and the first page
}

// keyRange is where the keys below an element of a branch are: from least on, and below
// limit. Nil is no bound.
type keyRange struct{ least, limit []byte }

// walk looks at a page and all below it, and returns the last key there.
func (p *boltPages) walk(number uint64, keys keyRange) (last []byte, err error) {
	page, err := p.read(number)
	if err != nil {
		return nil, err
	}
	before := keys.least
	for i := range page.count {
		key, err := page.key(i)
		if err != nil {
			return nil, err
		}
		order := bytes.Compare(before, key)
		if order > 0 || order == 0 && i > 0 || keys.limit != nil && bytes.Compare(key, keys.limit) >= 0 {
			return nil, fmt.Errorf("the keys of page %d are out of order: %w", number, ErrDamaged)
		}
		if page.kind == boltLeaf {
			before, err = key, page.value(i)
		} else {
			before, err = page.below(i, key, keys.limit)
		}
		if err != nil {
			return nil, err
		}
	}
	return before, nil
}

// read reads a page and checks its head.
func (p *boltPages) read(number uint64) (*boltPage, error) {
	if number < 2 || number >= p.end {
		return nil, fmt.Errorf("page %d is not where a page can be: %w", number, ErrDamaged)
	}
	page := &boltPage{boltPages: p, number: number, content: make([]byte, p.size)}
	if err := page.fill(); err != nil {
		return nil, err
	}
	more := uint64(binary.NativeEndian.Uint32(page.content[12:]))
	page.kind, page.count = binary.NativeEndian.Uint16(page.content[8:]), int(binary.NativeEndian.Uint16(page.content[10:]))
	page.extent = int64(more+1) * p.size
	elements := int64(boltPageHead) + int64(page.count)*boltElementBytes
	if binary.NativeEndian.Uint64(page.content) != number || more >= p.end-number || elements > page.extent ||
		page.kind != boltLeaf && (page.kind != boltBranch || page.count == 0) {
		return nil, fmt.Errorf("page %d has a damaged head: %w", number, ErrDamaged)
	}
	for of := number; of <= number+more; of++ {
		if p.visited[of] {
			return nil, fmt.Errorf("page %d belongs to two others: %w", of, ErrDamaged)
		}
		p.visited[of] = true
	}
	if elements > p.size {
		page.content = make([]byte, elements)
		if err := page.fill(); err != nil {
			return nil, err
		}
	}
	return page, nil
}

func (p *boltPage) fill() error { return p.readAt(p.content, 0) }

func (p *boltPage) readAt(b []byte, at int64) error {
	if _, err := p.file.ReadAt(b, int64(p.number)*p.size+at); err != nil {
		return asDamage(err)
	}
	return nil
}

// element is an element, and where it begins in the page.
func (p *boltPage) element(i int) (element []byte, at int64) {
	at = boltPageHead + int64(i)*boltElementBytes
	return p.content[at : at+boltElementBytes], at
}

// part reads bytes of the page.
func (p *boltPage) part(at, size int64) ([]byte, error) {
	if at+size > p.extent {
		return nil, fmt.Errorf("a key or value of page %d lies outside: %w", p.number, ErrDamaged)
	}
	if at+size <= int64(len(p.content)) {
		return p.content[at : at+size], nil
	}
	part := make([]byte, size)
	return part, p.readAt(part, at)
}

// key reads the key of an element.
func (p *boltPage) key(i int) ([]byte, error) {
	element, at := p.element(i)
	position, size := 4, 8
	if p.kind == boltBranch {
		position, size = 0, 4
	}
	return p.part(at+uint32At(element, position), uint32At(element, size))
}

// below looks at the page below an element of a branch.
func (p *boltPage) below(i int, key, limit []byte) (last []byte, err error) {
	if i+1 < p.count {
		if limit, err = p.key(i + 1); err != nil {
			return nil, err
		}
	}
	element, _ := p.element(i)
	return p.walk(binary.NativeEndian.Uint64(element[8:]), keyRange{key, limit})
}

// value looks at the value of an element of a leaf, which may be a bucket.
func (p *boltPage) value(i int) error {
	element, at := p.element(i)
	begin, size := at+uint32At(element, 4)+uint32At(element, 8), uint32At(element, 12)
	switch flags := uint32At(element, 0); {
	case begin+size > p.extent || flags > 1 || flags == 1 && size < boltBucketBytes:
		return fmt.Errorf("an element of page %d is damaged: %w", p.number, ErrDamaged)
	case flags == 0:
		return nil
	}
	bucket, err := p.part(begin, size)
	if err != nil {
		return err
	}
	if root := binary.NativeEndian.Uint64(bucket); root != 0 {
		_, err := p.walk(root, keyRange{})
		return err
	}
	return checkInlineBucket(bucket[boltBucketBytes:])
}

func uint32At(b []byte, offset int) int64 { return int64(binary.NativeEndian.Uint32(b[offset:])) }

// checkInlineBucket looks at a small bucket, which is a leaf inside of a value.
func checkInlineBucket(leaf []byte) error {
	size := int64(len(leaf))
	if size < boltPageHead || binary.NativeEndian.Uint16(leaf[8:]) != boltLeaf {
		return fmt.Errorf("a small bucket has a damaged head: %w", ErrDamaged)
	}
	end := boltPageHead + int64(binary.NativeEndian.Uint16(leaf[10:]))*boltElementBytes
	if end > size {
		return fmt.Errorf("a small bucket has a damaged head: %w", ErrDamaged)
	}
	for at := int64(boltPageHead); at < end; at += boltElementBytes {
		if element := leaf[at:]; uint32At(element, 0) != 0 || at+uint32At(element, 4)+uint32At(element, 8)+uint32At(element, 12) > size {
			return fmt.Errorf("an element of a small bucket is damaged: %w", ErrDamaged)
		}
	}
	return nil
}

// checkBoltPages looks at all pages that the newest of two heads refers to.
func checkBoltPages(file io.ReaderAt, pageBytes int64, heads ...[]byte) error {
	newest := heads[0]
	for _, head := range heads[1:] {
		if binary.NativeEndian.Uint64(head[boltOffsetTx:]) > binary.NativeEndian.Uint64(newest[boltOffsetTx:]) {
			newest = head
		}
	}
	pages := &boltPages{file: file, size: pageBytes, end: binary.NativeEndian.Uint64(newest[boltOffsetEnd:]), visited: map[uint64]bool{}}
	_, err := pages.walk(binary.NativeEndian.Uint64(newest[boltOffsetRoot:]), keyRange{})
	if err != nil && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("reading a page: %w", err)
	}
	return err
}
