package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The library walks all pages of a file when it opens it, in its own goroutine. If that panics over
// a damaged page, the process ends without naming the file. checkBoltPages walks the pages before
// that.
//
// A page begins with its number (u64), its kind (u16), its element count (u16), and the number of
// overflow pages (u32). A branch element holds the offset of its key, relative to the element
// (u32), the key's length (u32), and the number of the child page (u64). A leaf element holds
// flags, the offset, and the lengths of key and value (u32 each).
const (
	boltBranch       = 1
	boltLeaf         = 2
	boltElementBytes = 16
	boltBucketBytes  = 16 // header of a bucket in a leaf: root page and a counter
	boltOffsetRoot   = 16 // u64, in the head of the file: page of the root bucket
	boltOffsetTx     = 48 // u64, in the head of the file
)

// boltPages are the pages of one file.
type boltPages struct {
	file    io.ReaderAt
	size    int64  // of a page
	end     uint64 // first page that is not in use
	visited map[uint64]bool
}

// boltPage is a page with its overflow pages.
type boltPage struct {
	pages   *boltPages
	number  uint64
	kind    uint16
	count   int
	extent  int64  // bytes
	content []byte // the first page, and all elements
}

// keyRange bounds the keys below a branch element: least is inclusive, limit exclusive. Nil is no
// bound.
type keyRange struct{ least, limit []byte }

// walk checks a page and all pages below it, and returns the last key.
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

// read reads a page and checks its header.
func (p *boltPages) read(number uint64) (*boltPage, error) {
	if number < 2 || number >= p.end {
		return nil, fmt.Errorf("there can be no page %d: %w", number, ErrDamaged)
	}
	page := &boltPage{pages: p, number: number, content: make([]byte, p.size)}
	if err := page.readAt(page.content, 0); err != nil {
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
		if err := page.readAt(page.content, 0); err != nil {
			return nil, err
		}
	}
	return page, nil
}

func (p *boltPage) readAt(b []byte, at int64) error {
	if _, err := p.pages.file.ReadAt(b, int64(p.number)*p.pages.size+at); err != nil {
		return asDamage(err)
	}
	return nil
}

// element returns an element and its offset in the page.
func (p *boltPage) element(i int) (element []byte, at int64) {
	at = boltPageHead + int64(i)*boltElementBytes
	return p.content[at : at+boltElementBytes], at
}

// part returns size bytes of the page from an offset on.
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

func (p *boltPage) key(i int) ([]byte, error) {
	element, at := p.element(i)
	position, size := 4, 8
	if p.kind == boltBranch {
		position, size = 0, 4
	}
	return p.part(at+uint32At(element, position), uint32At(element, size))
}

// below checks the page below a branch element.
func (p *boltPage) below(i int, key, limit []byte) (last []byte, err error) {
	if i+1 < p.count {
		if limit, err = p.key(i + 1); err != nil {
			return nil, err
		}
	}
	element, _ := p.element(i)
	return p.pages.walk(binary.NativeEndian.Uint64(element[8:]), keyRange{key, limit})
}

// value checks the value of a leaf element, which may be a bucket.
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
		_, err := p.pages.walk(root, keyRange{})
		return err
	}
	return checkInlineBucket(bucket[boltBucketBytes:])
}

func uint32At(b []byte, offset int) int64 { return int64(binary.NativeEndian.Uint32(b[offset:])) }

// checkInlineBucket checks a small bucket, which is a leaf page stored as a value.
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

// checkBoltPages checks all pages that the newest head refers to.
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
