package amqp

import (
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/limits"
)

// held returns the memory of a connection.
func held(c *Conn) [purposes]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.memory.held
}

// fill puts messages into a queue.
func (b *broker) fill(name string, messages, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := &memoryQueue{}
	for range messages {
		q.messages = append(q.messages, data(size))
	}
	b.queues[name] = q
}

// left returns the number of messages in a queue.
func (b *broker) left(name string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queues[name].messages)
}

// bubble runs a test with a server and a client in a bubble with its own time.
func bubble(t *testing.T, test func(t *testing.T, s *Server, b *broker, bytes *budget.Bytes)) {
	synctest.Test(t, func(t *testing.T) {
		b, bytes := newBroker(), budget.New(testBudget)
		s := newServer(b, bytes)
		test(t, s, b, bytes)
		_ = s.Shutdown(t.Context()) // of connections that remain
		<-s.open.Ended()
		synctest.Wait()
		if used := bytes.Usage().Used; used != 0 {
			t.Errorf("%d bytes of the budget are used at the end", used)
		}
	})
}

// Messages wait for the window of the session, in bounded memory, and come when it opens.
func TestWindowOfZero(t *testing.T) {
	const messages, size = 100, 200_000
	b := newBroker()
	b.fill("q", messages, size)
	s := serve(t, b, budget.New(testBudget))
	p := dialRaw(t, s).open()
	c := <-b.conns
	p.frame(0, &wire.Begin{IncomingWindow: 0}).want(wire.CodeBegin)
	p.attach(0, 0, wire.Receiver, "q").want(wire.CodeAttach)
	p.frame(0, &wire.Flow{Handle: wire.Some[uint32](0), LinkCredit: wire.Some[uint32](messages), Echo: true})
	p.want(wire.CodeFlow) // the flow has had its effect
	if n := held(c)[outgoing]; n > outgoingMax || n < outgoingMax/2 {
		t.Errorf("%d bytes are held", n)
	}
	if left := b.left("q"); left < messages/2 {
		t.Errorf("%d messages remain", left)
	}
	for n, parts := 0, uint32(0); n < messages; parts++ {
		p.frame(0, &wire.Flow{NextIncomingID: wire.Some(parts), IncomingWindow: 1})
		transfer, err := wire.ReadTransfer(p.want(wire.CodeTransfer).list)
		clustertest.Must(t, err)
		if !transfer.More {
			p.frame(0, accept(uint32(n), uint32(n)))
			if d := p.disposition(); d.First != uint32(n) {
				t.Fatalf("%+v", d)
			}
			n++
		}
	}
}

// accept is a disposition of the client that does not settle.
func accept(first, last uint32) *wire.Disposition {
	return &wire.Disposition{Role: wire.Receiver, First: first, Last: last, State: (&wire.State{Code: wire.CodeAccepted}).Append(nil)}
}

// A client may take credit back.
func TestCreditTakenBack(t *testing.T) {
	b := newBroker()
	b.fill("q", 5, 10)
	s := serve(t, b, budget.New(testBudget))
	p := dialRaw(t, s).open()
	p.frame(0, &wire.Begin{IncomingWindow: 2}).want(wire.CodeBegin)
	p.attach(0, 0, wire.Receiver, "q").want(wire.CodeAttach)
	credit := func(seen, window, n uint32) {
		p.frame(0, &wire.Flow{
			NextIncomingID: wire.Some(seen), IncomingWindow: window, Handle: wire.Some[uint32](0), DeliveryCount: wire.Some(seen),
			LinkCredit: wire.Some(n), Echo: true,
		})
	}
	credit(0, 2, 4)
	p.until(wire.CodeFlow) // the order of flow and transfers is open
	credit(0, 2, 0)
	p.until(wire.CodeFlow)
	credit(0, 100, 0)
	f, err := wire.ReadFlow(p.until(wire.CodeFlow).list)
	clustertest.Must(t, err)
	if f.LinkCredit.Value != 0 || f.DeliveryCount.Value > 4 {
		t.Errorf("%+v", f)
	}
	credit(f.DeliveryCount.Value, 100, 5-f.DeliveryCount.Value)
	for id := f.DeliveryCount.Value; id < 5; id++ {
		transfer, err := wire.ReadTransfer(p.until(wire.CodeTransfer).list)
		clustertest.Must(t, err)
		if transfer.DeliveryID.Value == 4 {
			return
		}
	}
	t.Error("the last message did not come")
}

// A client that reads nothing has bounded memory, and loses its connection after a while.
func TestSlowReader(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, b *broker, _ *budget.Bytes) {
		b.fill("q", 1000, 100_000)
		p := pipe(t, s).open().begin(0)
		c := <-b.conns
		p.attach(0, 0, wire.Receiver, "q").want(wire.CodeAttach)
		p.flow(0, 0, 0, 1_000_000)
		synctest.Wait()
		if n := held(c)[outgoing]; n > outgoingMax {
			t.Errorf("%d bytes are held", n)
		}
		began := time.Now()
		b.await(t, "connection")
		if after := time.Since(began); after > limits.WriteTimeout+deadlineSlack {
			t.Errorf("closed after %v", after)
		}
		if why := <-b.refusals; why != limits.RefusedSlow {
			t.Errorf("refused as %s", why)
		}
	})
}

// So has one that causes answers without reading them.
func TestAnswersThatAreNotRead(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, b *broker, _ *budget.Bytes) {
		p := pipe(t, s).open().begin(0)
		c := <-b.conns
		sent := make(chan int)
		go func() {
			n := 0
			for ; ; n++ {
				if _, err := p.conn.Write(framed(0, &wire.Flow{Echo: true})); err != nil {
					break
				}
			}
			sent <- n
		}()
		synctest.Wait()
		c.mu.Lock()
		if n := len(c.output.queued.content()); n > outputMax+frameBytesMax {
			t.Errorf("%d bytes are queued", n)
		}
		c.mu.Unlock()
		b.await(t, "connection")
		if n := <-sent; n < 1000 {
			t.Errorf("%d frames were processed", n)
		}
	})
}

// The rest of a message must come in time, whether the client sends more parts, other frames, or
// nothing.
func TestEndlessMessages(t *testing.T) {
	for name, say := range map[string]func(p *raw){
		"parts":   func(p *raw) { p.frame(0, &wire.Transfer{Handle: 0, More: true}, make([]byte, 1000)...) },
		"frames":  func(p *raw) { p.write(wire.AppendEmptyFrame(nil)) },
		"nothing": func(*raw) {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *Server, b *broker, _ *budget.Bytes) {
				p := pipe(t, s).open().begin(0)
				c := <-b.conns
				p.attach(0, 0, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
				began := time.Now()
				p.frame(0, &wire.Transfer{DeliveryID: wire.Some[uint32](0), More: true}, data(1000)...)
				detached := make(chan struct{})
				go func() {
					p.wantError(wire.CodeDetach, DetachForced)
					close(detached)
				}()
				for range 1000 {
					select {
					case <-detached:
						if after, most := time.Since(began), messageLimit(1<<20)+time.Second; after > most {
							t.Errorf("ended after %v, more than %v", after, most)
						}
						if n := held(c)[incoming]; n != 0 {
							t.Errorf("%d bytes are held", n)
						}
						b.await(t, "q")
						return
					case <-time.After(100 * time.Millisecond):
						say(p)
					}
				}
				t.Error("the message never ends")
			})
		})
	}
}

// Incomplete messages of many links take bounded memory.
func TestManyIncompleteMessages(t *testing.T) {
	const links = 60
	const parts = 4*links + 20 // the last few have no room
	s := serve(t, newBroker(), budget.New(testBudget))
	p := dialRaw(t, s).open().begin(0)
	c := <-s.conns
	for i := range uint32(links) {
		p.attach(0, i, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
	}
	part := make([]byte, 60_000)
	for n := range uint32(parts) {
		transfer := &wire.Transfer{Handle: n % links, More: true}
		if n < links {
			transfer.DeliveryID = wire.Some(n)
		}
		p.frame(0, transfer, part...)
	}
	p.wantError(wire.CodeDetach, DetachForced)
	if n := held(c)[incoming]; n > incomingMax {
		t.Errorf("%d bytes are held", n)
	}
}

// When the handler has too much, the client has to wait.
func TestManyUnsettledMessages(t *testing.T) {
	b := newBroker()
	b.sends = 1 << 20
	s := serve(t, b, budget.New(testBudget))
	p := dialRaw(t, s).open().begin(0)
	c := <-b.conns
	p.attach(0, 0, wire.Sender, "held").want(wire.CodeAttach, wire.CodeFlow)
	const messages, size = 100, 900_000
	const unsettled = incomingMax>>20 - 1 // all but the next message fit
	wrote := make(chan bool, 1)
	go func() {
		for id := range uint32(messages) {
			for sent := 0; sent < size; sent += 30_000 {
				transfer := &wire.Transfer{More: sent+30_000 < size}
				if sent == 0 {
					transfer.DeliveryID = wire.Some(id)
				}
				if _, err := p.conn.Write(framed(0, transfer, make([]byte, 30_000)...)); err != nil {
					wrote <- false
					return
				}
			}
		}
		wrote <- true
	}()
	var deliveries []*Delivery
	for n := range messages {
		select {
		case d := <-b.held:
			deliveries = append(deliveries, d)
		case name := <-b.ended:
			t.Fatalf("%s ended", name)
		}
		if n := held(c)[incoming]; n > incomingMax {
			t.Errorf("%d bytes are held", n)
		}
		if n+1 >= unsettled {
			deliveries[n+1-unsettled].Settle(wire.State{Code: wire.CodeAccepted})
		}
	}
	for _, d := range deliveries[messages+1-unsettled:] {
		d.Settle(wire.State{Code: wire.CodeAccepted})
	}
	if !<-wrote {
		t.Error("the connection ended")
	}
	for next := uint32(0); next < messages; {
		d := p.disposition()
		if d.First != next {
			t.Fatalf("%+v, want %d", d, next)
		}
		next = d.Last + 1
	}
}

// Before a client has proved that it has a key, it gets little, and not for long.
func TestUnverifiedConnections(t *testing.T) {
	b := newBroker()
	b.verifies = false
	s := serve(t, b, budget.New(testBudget))
	p := dialRaw(t, s).open()
	for i := range uint16(unverifiedSessions) {
		p.begin(i)
	}
	for i := range uint32(unverifiedLinks) { // there is room for those of a token
		p.attach(0, i, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
	}
	p.frame(unverifiedSessions, &wire.Begin{}).wantError(wire.CodeClose, ResourceLimitExceeded)
	p.wantEnd()

	p = dialRaw(t, s).open().begin(0)
	for i := range uint32(unverifiedLinks) {
		p.attach(0, i, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
	}
	p.attach(0, 100, wire.Sender, "q").wantError(wire.CodeEnd, ResourceLimitExceeded)

	p = dialRaw(t, s).open().begin(0)
	p.attach(0, 0, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
	p.message(0, 0, 0, data(2*unverifiedMax)).wantError(wire.CodeDetach, DetachForced)

	bubble(t, func(t *testing.T, s *Server, b *broker, _ *budget.Bytes) {
		b.verifies = false
		p := pipe(t, s).open()
		began := time.Now()
		p.wantError(wire.CodeClose, UnauthorizedAccess)
		if after := time.Since(began); after != verifyTimeout {
			t.Errorf("closed after %v", after)
		}
	})
}

// A client with a key may have many links, and no more.
func TestManyLinks(t *testing.T) {
	s := serve(t, newBroker(), budget.New(testBudget))
	p := dialRaw(t, s).open()
	go func() {
		var b []byte
		for i := range uint32(linksMax + 1) {
			channel := uint16(i / 100)
			if i%100 == 0 {
				b = append(b, framed(channel, &wire.Begin{IncomingWindow: 10})...)
			}
			b = append(b, framed(channel, attachment(i%100, wire.Receiver, "q"))...)
		}
		_, _ = p.conn.Write(b) // fails if the test has ended
	}()
	p.wantError(wire.CodeEnd, ResourceLimitExceeded)
	p.frame(3, ending(wire.CodeEnd)).until(wire.CodeEnd)
	for range 100 {
		s.await(t, "q")
	}
}

// Without memory links and messages are refused so that clients try again, and messages to clients
// wait.
func TestWithoutMemory(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, b *broker, bytes *budget.Bytes) {
		b.fill("full", 1, 30_000)
		p := pipe(t, s).open().begin(0)
		p.attach(0, 0, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
		p.attach(0, 1, wire.Receiver, "full").want(wire.CodeAttach)
		free := bytes.Usage().Limit - bytes.Usage().Used
		clustertest.Must(t, bytes.Acquire(t.Context(), free, 0))
		detached := make(chan struct{})
		go func() {
			p.wantError(wire.CodeDetach, DetachForced)
			close(detached)
		}()
		began := time.Now()
		p.frame(0, &wire.Transfer{DeliveryID: wire.Some[uint32](0), More: true}, make([]byte, 2000)...)
		for range 5 {
			p.frame(0, &wire.Transfer{More: true}, make([]byte, 2000)...)
		}
		p.frame(0, &wire.Detach{Handle: 0, Closed: true})
		<-detached
		if waited := time.Since(began); waited != budget.WaitMax {
			t.Errorf("waited for %v", waited)
		}
		p.flow(0, 1, 0, 1)
		for i := range uint32(10) {
			p.attach(0, 10+i, wire.Sender, "q").want(wire.CodeAttach)
			g, _ := p.next()
			if g.code == wire.CodeDetach {
				break
			} else if i == 9 {
				t.Error("all links were accepted")
			}
		}
		time.Sleep(10 * retryAfter)
		bytes.Release(free)
		p.until(wire.CodeTransfer)

		free = bytes.Usage().Limit - bytes.Usage().Used
		clustertest.Must(t, bytes.Acquire(t.Context(), free, 0))
		go func() { _, _ = p.conn.Write(framed(0, &wire.Flow{}, make([]byte, 60_000)...)) }() // until the connection ends
		p.wantError(wire.CodeClose, ConnectionForced)
		p.conn.Close()
		bytes.Release(free)
	})
}

// Frames in a wrong order, and wrong frames, end the link, the session or the connection.
func TestWrongFrames(t *testing.T) {
	id := wire.Some[uint32](0)
	large := wire.BeginFrame(nil, wire.FrameAMQP, 0)
	binary.BigEndian.PutUint32(large, frameBytesMax+1)
	for name, c := range map[string]struct {
		b         []byte
		code      uint64
		condition string
	}{
		"a second open":          {framed(0, &wire.Open{ContainerID: "x"}), wire.CodeClose, NotAllowed},
		"a used channel":         {framed(0, &wire.Begin{}), wire.CodeClose, NotAllowed},
		"a large channel":        {framed(channelMax+1, &wire.Begin{}), wire.CodeClose, NotAllowed},
		"an unknown channel":     {framed(9, &wire.Flow{}), wire.CodeClose, NotAllowed},
		"a large frame":          {large, wire.CodeClose, FramingError},
		"a small frame":          {make([]byte, 8), wire.CodeClose, FramingError},
		"a SASL frame":           {wire.EndFrame(wire.BeginFrame(nil, wire.FrameSASL, 0), 0), wire.CodeClose, FramingError},
		"no performative":        {wire.EndFrame(append(wire.BeginFrame(nil, 0, 0), 0x40), 0), wire.CodeClose, DecodeError},
		"an unknown one":         {wire.EndFrame(append(wire.BeginFrame(nil, 0, 0), 0, 0x53, 0x19, 0x45), 0), wire.CodeClose, NotAllowed},
		"a used handle":          {framed(0, attachment(0, wire.Sender, "q")), wire.CodeEnd, HandleInUse},
		"a large handle":         {framed(0, attachment(handleMax+1, wire.Sender, "q")), wire.CodeClose, FramingError},
		"a flow to no link":      {framed(0, &wire.Flow{Handle: wire.Some[uint32](9)}), wire.CodeEnd, UnattachedHandle},
		"a detach of no link":    {framed(0, &wire.Detach{Handle: 9}), wire.CodeEnd, UnattachedHandle},
		"a transfer to no link":  {framed(0, &wire.Transfer{Handle: 9}), wire.CodeEnd, UnattachedHandle},
		"a transfer to a sender": {framed(0, &wire.Transfer{Handle: 1}), wire.CodeEnd, NotAllowed},
		"no delivery id":         {framed(0, &wire.Transfer{Handle: 0}), wire.CodeDetach, InvalidField},
		"a message in a message": {
			append(framed(0, &wire.Transfer{DeliveryID: id, More: true}), framed(0, &wire.Transfer{DeliveryID: wire.Some[uint32](1)})...),
			wire.CodeDetach, NotAllowed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, newBroker(), budget.New(testBudget))
			p := dialRaw(t, s).open().begin(0)
			p.attach(0, 0, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
			p.attach(0, 1, wire.Receiver, "q").want(wire.CodeAttach)
			p.write(c.b).wantError(c.code, c.condition)
			switch c.code {
			case wire.CodeClose:
				p.frame(0, ending(wire.CodeClose)).wantEnd()
				s.await(t, "connection")
			case wire.CodeEnd:
				s.await(t, "session")
				p.frame(0, ending(wire.CodeEnd)).begin(0) // the channel is free
			case wire.CodeDetach:
				s.await(t, "q")
				p.frame(0, &wire.Detach{Handle: 0, Closed: true})
				p.attach(0, 0, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow) // the handle is free
			}
		})
	}
}

// Credit bounds the messages that a client may send.
func TestMessagesWithoutCredit(t *testing.T) {
	b := newBroker()
	b.sends = 3
	s := serve(t, b, budget.New(testBudget))
	p := dialRaw(t, s).open().begin(0)
	p.attach(0, 0, wire.Sender, "held").want(wire.CodeAttach, wire.CodeFlow)
	for id := range uint32(4) {
		p.message(0, 0, id, data(1))
	}
	p.wantError(wire.CodeDetach, TransferLimitExceeded)
	s.await(t, "held")
	for range 3 {
		(<-b.held).Settle(wire.State{Code: wire.CodeAccepted})
	}
}

// An aborted message is dropped, and uses its credit.
func TestAbortedMessages(t *testing.T) {
	b := newBroker()
	b.sends = 2
	s := serve(t, b, budget.New(testBudget))
	p := dialRaw(t, s).open().begin(0)
	c := <-b.conns
	p.attach(0, 0, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
	for id := range uint32(20) {
		p.frame(0, &wire.Transfer{DeliveryID: wire.Some(2 * id), More: true}, data(10_000)...)
		p.frame(0, &wire.Transfer{Aborted: true})
		p.message(0, 0, 2*id+1, data(int(id)))
		if d := p.disposition(); d.First != 2*id+1 || d.Last != d.First {
			t.Fatalf("%+v", d)
		}
	}
	if n := held(c)[incoming]; n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

// A client that says nothing, or too little, loses its connection.
func TestSilence(t *testing.T) {
	whole := framed(0, &wire.Open{ContainerID: "x"})
	for name, begin := range map[string]string{
		"nothing": "", "half a header": "AMQP", "half an open": wire.ProtocolAMQP + string(whole[:10]),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *Server, b *broker, _ *budget.Bytes) {
				p := pipe(t, s)
				began := time.Now()
				if begin != "" {
					p.write([]byte(begin))
				}
				p.wantEndRaw()
				if after := time.Since(began); after > limits.HeaderTimeout+lingering {
					t.Errorf("closed after %v", after)
				}
				if why := <-b.refusals; why != limits.RefusedSilent {
					t.Errorf("refused as %s", why)
				}
			})
		})
	}
	t.Run("idle", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *Server, _ *broker, _ *budget.Bytes) {
			p := pipe(t, s).open()
			began := time.Now()
			for range 10 {
				time.Sleep(idleTimeout / 2)
				p.write(wire.AppendEmptyFrame(nil))
			}
			p.wantError(wire.CodeClose, ConnectionForced)
			if after := time.Since(began) - 5*idleTimeout; after < idleTimeout || after > idleTimeout+deadlineSlack {
				t.Errorf("closed after %v", after)
			}
		})
	})
	t.Run("a frame in small pieces", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *Server, b *broker, _ *budget.Bytes) {
			p := pipe(t, s).open().begin(0)
			began := time.Now()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for _, piece := range framed(0, &wire.Flow{}, make([]byte, 1000)...) {
					if _, err := p.conn.Write([]byte{piece}); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}()
			p.wantError(wire.CodeClose, ConnectionForced)
			if after := time.Since(began); after > limits.BodyTimeout+5*time.Second {
				t.Errorf("closed after %v", after)
			}
			if why := <-b.refusals; why != limits.RefusedSlow {
				t.Errorf("refused as %s", why)
			}
			p.conn.Close()
			<-ended
		})
	})
}

// A client with an idle time-out gets empty frames in time, and no more than needed.
func TestHeartbeats(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, _ *broker, _ *budget.Bytes) {
		p := pipe(t, s).openWith(&wire.Open{ContainerID: "x", IdleTimeout: wire.Some[uint32](30_000)})
		last := time.Now()
		for range 5 {
			g, ok := p.next()
			if after := time.Since(last); !ok || g.code != 0 || after != 15*time.Second {
				t.Errorf("frame 0x%x after %v", g.code, after)
			}
			last = time.Now()
		}
	})
	for name, o := range map[string]*wire.Open{
		NotAllowed:   {ContainerID: "x", IdleTimeout: wire.Some[uint32](1)},
		InvalidField: {ContainerID: "x", MaxFrameSize: wire.Some[uint32](511)},
	} {
		bubble(t, func(t *testing.T, s *Server, _ *broker, _ *budget.Bytes) {
			p := pipe(t, s).openWith(o)
			p.wantError(wire.CodeClose, name)
		})
	}
}

// A panic of the handler costs one connection, whose end the handler learns.
func TestPanics(t *testing.T) {
	s := newServer(newBroker(), nil)
	b := s.Handler.(*broker)
	s.Handler = panics{b}
	s.Logger = quiet
	p := pipe(t, s).open().begin(0)
	p.attach(0, 0, wire.Sender, "panic").wantEnd()
	b.await(t, "session")
	b.await(t, "connection")
	if n := s.Panics(); n != 1 {
		t.Errorf("%d panics", n)
	}
	clustertest.Must(t, s.Shutdown(t.Context()))
}

type panics struct{ *broker }

func (panics) Attach(*Request) { panic(fmt.Sprint("as planned")) }
